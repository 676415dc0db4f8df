import Crypto
import EventLoop
import FleetSupport
import HTTPServer
import JSON
import Telemetry
import TestSupport

/// A server that manages channels as Apple documents it, as far as Martlet asks. A test decides its faults.
@EventLoop
final class FakeChannels {
  /// The storage policies of the channels, by their ids.
  private(set) var channels: [String: Int] = [:]
  /// `POST /1/apps/com.example.demo/channels`
  private(set) var requests: [String] = []
  private(set) var authorizations: Set<String> = []
  private var refusal: (status: Int, reason: String)?
  private var losesAnswers = false
  let certificate: TestCertificate
  private var server: HTTPServer?
  private var created = 0

  private init(_ certificate: TestCertificate) { self.certificate = certificate }

  static func started() async throws -> FakeChannels {
    let channels = FakeChannels(try await TestCertificate())
    var configuration = HTTPServerConfiguration(address: .loopback(port: 0))
    configuration.certificate = try ServerCertificate(
      chain: Array(channels.certificate.chain.utf8), key: Array(channels.certificate.key.utf8))
    let server = HTTPServer(configuration: configuration, log: .silent) { [weak channels] request, respond in
      guard let channels else { return }
      respond(channels.answer(request))
    }
    try server.start()
    channels.server = server
    return channels
  }

  var url: String { "https://localhost:\(server?.port ?? 0)" }

  /// What nobody has a name for.
  func addOrphan(_ id: String, policy: Int = 1) { channels[id] = policy }

  /// Answers every request that has credentials with a refusal.
  func refuseAll(with status: Int, _ reason: String) { refusal = (status, reason) }

  func acceptAll() { refusal = nil }

  /// Creates channels, but answers with an error.
  func loseAnswers(_ isLosing: Bool) { losesAnswers = isLosing }

  func forget(_ id: String) { channels[id] = nil }

  private func answer(_ request: HTTPRequest) -> HTTPResponse {
    requests.append("\(request.method) \(request.path)")
    guard let authorization = request.headers["authorization"] else { return refuse(403, "MissingProviderToken") }
    authorizations.insert(authorization)
    if let refusal { return refuse(refusal.status, refusal.reason) }
    let id = request.headers["apns-channel-id"] ?? ""
    switch (request.method, request.path) {
    case ("GET", "/1/apps/com.example.demo/all-channels"):
      let list = channels.keys.sorted().map { "\"\($0)\"" }.joined(separator: ",")
      return HTTPResponse(status: 200, body: Array(#"{"channels":[\#(list)]}"#.utf8))
    case ("POST", "/1/apps/com.example.demo/channels"): return create(request)
    case ("GET", "/1/apps/com.example.demo/channels"):
      guard let policy = channels[id] else { return refuse(400, "ChannelNotRegistered") }
      return HTTPResponse(
        status: 200, body: Array(#"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#.utf8))
    case ("DELETE", "/1/apps/com.example.demo/channels"):
      return channels.removeValue(forKey: id) == nil ? refuse(400, "ChannelNotRegistered") : HTTPResponse(status: 204)
    default: return refuse(404, "BadPath")
    }
  }

  private func create(_ request: HTTPRequest) -> HTTPResponse {
    let body = try? JSONValue(parsing: request.body)
    guard let policy = body?["message-storage-policy"]?.integer(in: 0...1),
      body?["push-type"]?.string == "LiveActivity"
    else { return refuse(400, "BadRequestPayload") }
    created += 1
    let id = "channel\(created)=="
    channels[id] = Int(policy)
    if losesAnswers { return refuse(500, "InternalServerError") }
    return HTTPResponse(status: 201, headers: [("apns-channel-id", id)])
  }

  private func refuse(_ status: Int, _ reason: String) -> HTTPResponse {
    HTTPResponse(status: status, body: Array(#"{"reason":"\#(reason)"}"#.utf8))
  }
}

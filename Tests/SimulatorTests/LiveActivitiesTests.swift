import EventLoop
import Foundation
import HTTPServer
import Telemetry
import TestSupport
import Testing

@testable import Simulator

/// The program, with curl as its client and a server that takes reports.
struct LiveActivitiesTests {
  private static let startToken = String(repeating: "cd", count: 32)

  /// A report of an update token, as it arrived.
  private struct Report: Sendable {
    let head: String
    let token: String
    let body: [String: String]
  }

  /// Takes reports after it has failed twice.
  @EventLoop
  private static func sidecar(_ reports: Locked<[Report]>) throws -> HTTPServer {
    let server = HTTPServer(configuration: .init(address: .loopback(port: 0)), log: .silent) { request, reply in
      let body = (try? JSONDecoder().decode([String: String].self, from: Data(request.body))) ?? [:]
      let (user, bearer) = (request.headers["x-username"] ?? "", request.headers["authorization"] ?? "")
      let count = reports.withLock {
        $0.append(
          Report(head: "\(request.method) \(request.path) \(user) \(bearer)", token: body["token"] ?? "", body: body))
        return $0.count
      }
      reply(HTTPResponse(status: count <= 2 ? 503 : 204))
    }
    try server.start()
    return server
  }

  @Test func `a start shows a card, whose token is reported until it is taken`() async throws {
    let simulator = try await SimulatedGateway(["--environment", "sandbox"], isLikeApple: false)
    let reports = Locked<[Report]>([])
    let sidecar = try await Self.sidecar(reports)
    try await simulator.addLiveDevice(
      "phone", of: "anna", startTokens: ["Ride": Self.startToken], sidecar: "http://127.0.0.1:\(await sidecar.port)",
      #""bearer":"secret","maxDelayMs":20"#)
    #expect(try await push(simulator, Self.startToken, LiveActivityPayload.startFields("ride 7"), at: 1) == "")
    try await eventually("the token is taken") {
      try await simulator.liveDevices().first?.activities.first?.shown.first?.reported == true
    }
    let taken = reports.withLock { $0 }
    let token = try #require(taken.last?.token)
    #expect(taken.count == 3 && Set(taken.map(\.token)) == [token])
    #expect(taken.last?.head == "PUT /activities/ride%207 anna Bearer secret")
    #expect(
      taken.last?.body
        == ["token": token, "bundleId": "com.example.demo", "environment": "sandbox", "deviceId": "phone"])
    #expect(try await push(simulator, token, #""event":"update""#, at: 2) == "")
    try await simulator.rotateTokens(of: "ride 7", on: "phone")
    try await eventually("the new token is taken") { reports.withLock { $0.count } == 4 }
    #expect(try await push(simulator, token, #""event":"end""#, at: 3).contains(#"{"reason":"ExpiredToken""#))
    let activity = try #require(try await simulator.liveDevices().first?.activities.first)
    #expect(activity.cards == 1 && activity.starts == 1 && activity.applied == 1 && activity.shown[0].timestamp == 2)
    try await simulator.setLiveDevice("phone", online: false)
    #expect(try await simulator.liveDevices().first?.online == false)
    let unknown = try await simulator.control(
      "/live-activities", "--no-fail-with-body", "-d", #"{"deviceId":"other","online":true}"#)
    #expect(unknown.contains("there is no device"))
    try await simulator.control("/live-activities", "-X", "DELETE")
    #expect(try await simulator.liveDevices().isEmpty)
    await sidecar.stop {}
  }

  @Test func `channels are managed on their port and used on the other one`() async throws {
    let simulator = try await SimulatedGateway(isLikeApple: false)
    let created = try await channel(
      simulator, "POST", body: #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
    #expect(created.hasPrefix("HTTP/2 201") && created.contains("apns-request-id: "))
    let id = try #require(created.firstMatch(of: /apns-channel-id: ([^\r\n]+)/)?.1)
    let other = try await channel(
      simulator, "POST", body: #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#, "-H",
      "apns-request-id: 123e4567-e89b-12d3-a456-426614174000")
    #expect(other.contains("apns-request-id: 123e4567-e89b-12d3-a456-426614174000"))
    let read = try await channel(simulator, "GET", "-H", "apns-channel-id: \(id)")
    #expect(read.hasPrefix("HTTP/2 200") && read.hasSuffix(#"{"message-storage-policy":0,"push-type":"LiveActivity"}"#))
    #expect(try await channel(simulator, "GET", path: "all-channels").contains("\"\(id)\""))
    try await simulator.addLiveDevice("phone", of: "anna", startTokens: ["Ride": Self.startToken])
    let start = LiveActivityPayload.startFields("ride", input: #""input-push-channel":"\#(id)""#)
    #expect(try await push(simulator, Self.startToken, start, at: 1) == "")
    let sent = try await broadcast(simulator, String(id), #""event":"update""#, at: 7)
    #expect(sent.hasPrefix("HTTP/2 200") && sent.contains("apns-request-id: "))
    let card = try #require(try await simulator.liveDevices().first?.activities.first?.shown.first)
    #expect(card.timestamp == 7 && card.channel == String(id) && card.token == nil)
    #expect(try await simulator.control("/channels").contains(#""storagePolicy":0,"broadcasts":1"#))
    #expect(try await broadcast(simulator, String(id), start, at: 8).hasSuffix(#"{"reason":"BadRequestPayload"}"#))
    #expect(try await channel(simulator, "DELETE", "-H", "apns-channel-id: \(id)").hasPrefix("HTTP/2 204"))
    let gone = try await broadcast(simulator, String(id), #""event":"update""#, at: 8)
    #expect(gone.hasPrefix("HTTP/2 400") && gone.hasSuffix(#"{"reason":"ChannelNotRegistered"}"#))
    #expect(try await simulator.ledger().received == 1, "the ledger has pushes only")
  }

  @Test func `provider tokens and keys are checked as for pushes`() async throws {
    let simulator = try await SimulatedGateway(["--environment", "sandbox"], isLikeApple: false)
    let body = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
    let none = try await channel(simulator, "POST", body: body, "-H", "authorization:")
    #expect(none.hasPrefix("HTTP/2 403") && none.hasSuffix(#"{"reason":"MissingProviderToken"}"#))
    #expect(try await broadcast(simulator, "YQ==", "", at: 1, "-H", "authorization:").contains("MissingProviderToken"))
    try await simulator.restrictKey(simulator.ready.keyId, environment: "sandbox", onlyBundleIDs: ["com.example.other"])
    #expect(try await channel(simulator, "POST", body: body).hasSuffix(#"{"reason":"TopicMismatch"}"#))
    try await simulator.restrictKey(simulator.ready.keyId, environment: "production")
    #expect(try await channel(simulator, "POST", body: body).contains("BadEnvironmentKeyIdInToken"))
  }

  @Test func `a channel whose answer was lost exists`() async throws {
    let simulator = try await SimulatedGateway(isLikeApple: false)
    try await simulator.fault(#"{"kind":"drop","on":"channels","count":1,"processed":true}"#)
    #expect(try await simulator.push().hasPrefix("HTTP/2 200"), "the fault is for channels only")
    let body = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
    await #expect(throws: (any Error).self) { try await channel(simulator, "POST", body: body) }
    #expect(try await simulator.control("/channels").contains("channelId"))
    try await simulator.fault(#"{"kind":"status","on":"channels","status":503,"reason":"Service Unavailable"}"#)
    #expect(try await channel(simulator, "GET").hasSuffix(#"{"reason":"Service Unavailable"}"#))
  }

  /// The body of the answer, empty for an accepted push.
  private func push(
    _ simulator: SimulatedGateway, _ token: String, _ fields: String, at timestamp: Int
  ) async throws -> String {
    try await ask(
      simulator, "\(simulator.ready.url)/3/device/\(token)", "-H", "apns-push-type: liveactivity", "-H",
      "apns-topic: com.example.demo.push-type.liveactivity", "-d", Self.body(fields, timestamp))
  }

  private func broadcast(
    _ simulator: SimulatedGateway, _ id: String, _ fields: String, at timestamp: Int, _ arguments: String...
  ) async throws -> String {
    try await ask(
      simulator, "\(simulator.ready.url)/4/broadcasts/apps/com.example.demo",
      ["-i", "-H", "apns-channel-id: \(id)", "-H", "apns-push-type: liveactivity", "-H", "apns-expiration: 0"]
        + ["-d", Self.body(fields, timestamp)] + arguments)
  }

  private func channel(
    _ simulator: SimulatedGateway, _ method: String, path: String = "channels", body: String? = nil,
    _ arguments: String...
  ) async throws -> String {
    try await ask(
      simulator, "\(simulator.ready.channels)/1/apps/com.example.demo/\(path)",
      ["-i", "-X", method] + (body.map { ["-d", $0] } ?? []) + arguments)
  }

  private static func body(_ fields: String, _ timestamp: Int) -> String {
    #"{"aps":{"timestamp":\#(timestamp),\#(fields),"content-state":{}}}"#
  }

  private func ask(_ simulator: SimulatedGateway, _ url: String, _ arguments: String...) async throws -> String {
    try await ask(simulator, url, arguments)
  }

  /// Asks with curl. An argument `authorization:` leaves the provider token out.
  private func ask(_ simulator: SimulatedGateway, _ url: String, _ arguments: [String]) async throws -> String {
    let authorization =
      arguments.contains("authorization:") ? [] : ["-H", "authorization: \(try simulator.authorization)"]
    return try await ChildProcess.run(
      "curl", ["-sS", "--http2", "--cacert", simulator.ready.caCertificate] + authorization + arguments + [url])
  }
}

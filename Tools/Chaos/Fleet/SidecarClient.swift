import EventLoop
import FoundationEssentials
import TestSupport

/// A running sidecar and its HTTP API.
@EventLoop
final class SidecarClient {
  private let process: ChildProcess
  private let port: Int
  private let environment: [String: String]
  private var generator = SeededGenerator(seed: 0)

  init(environment: [String: String]) async throws {
    var environment = environment
    environment["MARTLET_HTTP_ADDRESS"] = "127.0.0.1:0"
    environment["MARTLET_REGISTER_LIMIT"] = "off"
    environment["MARTLET_BROADCAST_LIMIT"] = "off"
    environment["MARTLET_PUSH_SERVER_OPEN"] = "true"
    self.environment = environment
    process = try ChildProcess(try builtProduct("martlet"), ["sidecar"], environment: environment)
    let line = try await process.line("its port") { @Sendable line in line.contains("sidecar listens") }
    struct Entry: Decodable { let port: Int }
    port = try JSONDecoder().decode(Entry.self, from: Data(line.utf8)).port
  }

  var lines: [String] { process.lines }

  func stop() async throws -> Int32 { try await process.stop() }

  /// Creates the credentials of a user.
  func add(user: HardName) async throws {
    let child = try ChildProcess(
      try builtProduct("martlet"), ["credentials", "add", "user", spelled(user), "--secret", "-"],
      environment: environment,
      input: secret(of: user) + "\n")
    guard try await child.exit() == 0 else {
      throw ChaosError("credentials of \(user): \(child.lines.joined(separator: "\n"))")
    }
  }

  /// The status; 0 without an answer.
  func register(_ token: String, to user: HardName, phone: String? = nil, environment: String? = nil) async -> Int {
    let member =
      (environment.map { #","environment":"\#($0)""# } ?? "") + (phone.map { #","deviceId":"\#($0)""# } ?? "")
    return await post("/api/push/register", user: user, body: #"{"token":"\#(token)"\#(member)}"#)
  }

  func unregister(_ token: String, of user: HardName) async -> Int {
    await post("/api/push/unregister", user: user, body: #"{"token":"\#(token)"}"#)
  }

  /// Adds an anonymous device to the audience of an app.
  func add(_ token: String, to app: String) async -> Int {
    await post("/newtoken", user: nil, body: #"{"token":"\#(token)","bundleId":"\#(app)"}"#)
  }

  private func secret(of user: HardName) -> String {
    "bearer-token-of-" + user.form.utf8.map { String($0, radix: 16) }.joined()
  }

  private func spelled(_ user: HardName) -> String { user.spelled(using: &generator) }

  private func post(_ path: String, user: HardName?, body: String) async -> Int {
    var head = "POST \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    if let user { head += "Authorization: Bearer \(secret(of: user))\r\nX-Username: \(spelled(user))\r\n" }
    let request = head + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    let port = port
    let answer = (try? await blocking { try Wire.answer(to: request, port: port) }) ?? ""
    return Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
  }
}

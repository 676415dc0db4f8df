import Foundation
import TestSupport

/// A running `apns-simulator`, its ledger and its faults.
final class SimulatedGateway: Sendable {
  let process: ChildProcess
  /// What a worker needs to send there: the provider key, the origin, the certificate authority.
  let environment: [String: String]
  let ready: Ready
  /// Keeps the directory for as long as the process.
  private let directory: TemporaryDirectory

  init(_ arguments: [String] = []) async throws {
    directory = try TemporaryDirectory()
    process = try ChildProcess(try builtProduct("apns-simulator"), ["--dir", directory.path] + arguments)
    let line = try await process.line("its ready line") { $0.hasPrefix("{") && $0.contains("\"ready\":true") }
    ready = try JSONDecoder().decode(Ready.self, from: Data(line.utf8))
    environment = [
      "APNS_KEY_ID": ready.keyId, "APNS_TEAM_ID": ready.teamId, "APNS_BUNDLE_ID": "com.example.demo",
      "APNS_KEY_PATH": "\(directory.path)/AuthKey_SIMULATOR1.p8", "APNS_ENDPOINT_OVERRIDE": ready.url,
      "APNS_CA_CERT": ready.caCertificate,
    ]
  }

  /// Takes back every fault and rule, and empties the ledger.
  func reset() async throws {
    try await control("/faults", "-X", "DELETE")
    try await control("/devices", "-X", "DELETE")
    try await control("/settings", "-d", #"{"rttMs":0,"maxStreams":1000,"initialStreams":1}"#)
    try await control("/ledger/reset", "-X", "POST")
  }

  @discardableResult
  func control(_ path: String, _ arguments: String...) async throws -> String {
    try await ChildProcess.run(
      "curl", ["-sS", "--fail-with-body", "--max-time", "20"] + arguments + [ready.control + path])
  }

  func fault(_ json: String) async throws {
    try await control("/faults", "-d", json)
  }

  func clearFaults() async throws {
    try await control("/faults", "-X", "DELETE")
  }

  func settings(_ json: String) async throws {
    try await control("/settings", "-d", json)
  }

  /// `rule`: the fields beside `token`, as JSON members.
  func device(_ token: String, _ rule: String) async throws {
    try await control("/devices", "-d", #"{"token":"\#(token)",\#(rule)}"#)
  }

  func ledger() async throws -> GatewayLedger {
    try JSONDecoder().decode(GatewayLedger.self, from: Data(try await control("/ledger").utf8))
  }

  /// The latest pushes, refused ones among them, oldest first; at most some 1,000.
  func recent() async throws -> [GatewayLedger.Push] {
    let latest = try await control("/ledger/recent?n=1000")
    return try JSONDecoder().decode([GatewayLedger.Push].self, from: Data(latest.utf8)).reversed()
  }

  /// How often each apns-id was received.
  func counts() async throws -> [String: Int] {
    let lines = try await control("/ledger/ids").split(separator: "\n")
    return Dictionary(
      lines.map { line in
        let words = line.split(separator: " ")
        return (String(words[0]), Int(words[1]) ?? 0)
      }, uniquingKeysWith: +)
  }

  /// The ready line.
  struct Ready: Decodable {
    let port: Int
    let url: String
    let control: String
    let caCertificate: String
    let keyId: String
    let teamId: String
  }
}

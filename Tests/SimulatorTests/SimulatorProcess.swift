import Foundation
import TestSupport

@testable import Simulator

/// A running `apns-simulator` and the tools that talk to it.
final class SimulatorProcess: Sendable {
  let process: ChildProcess
  let ready: Ready
  let authorization: String
  /// Keeps the directory for as long as the process.
  private let directory: TemporaryDirectory

  init(_ arguments: [String] = []) async throws {
    directory = try TemporaryDirectory()
    process = try ChildProcess(try builtProduct("apns-simulator"), ["--dir", directory.path] + arguments)
    let line = try await process.line("its ready line") { $0.hasPrefix("{") && $0.contains("\"ready\":true") }
    ready = try JSONDecoder().decode(Ready.self, from: Data(line.utf8))
    authorization = try ProviderTokenSigner(path: "\(directory.path)/AuthKey_SIMULATOR1.p8").authorization()
  }

  var directoryPath: String { directory.path }

  /// Takes everything back that an earlier test has set.
  func reset() async throws {
    try await control("/faults", "-X", "DELETE")
    try await control("/devices", "-X", "DELETE")
    try await control("/settings", "-d", #"{"rttMs":0,"maxStreams":1000,"initialStreams":1000}"#)
    try await control("/ledger/reset", "-X", "POST")
  }

  @discardableResult
  func control(_ path: String, _ arguments: String...) async throws -> String {
    try await ChildProcess.run("curl", ["-sS", "--max-time", "20"] + arguments + [ready.control + path])
  }

  func fault(_ json: String) async throws {
    try await control("/faults", "-d", json)
  }

  func ledger() async throws -> Ledger {
    try JSONDecoder().decode(Ledger.self, from: Data(try await control("/ledger").utf8))
  }

  /// One push with curl, which verifies the certificate: the answer with its head.
  func push(_ token: String = RequestHead.token, body: String = "{\"aps\":{}}", _ arguments: String...) async throws
    -> String
  {
    try await ChildProcess.run(
      "curl",
      [
        "-sS", "-i", "--http2", "--max-time", "20", "--cacert", ready.caCertificate, "-d", body,
        "-H", "authorization: \(authorization)", "-H", "apns-topic: com.example.demo",
      ] + arguments + ["\(ready.url)/3/device/\(token)"])
  }

  /// `count` pushes at once on one connection: nghttp's account of all frames.
  func pushes(_ count: Int, seconds: Int = 20) async throws -> String {
    let body = "\(directory.path)/body.json"
    try #"{"aps":{"alert":"Hello"}}"#.write(toFile: body, atomically: true, encoding: .utf8)
    let nghttp = try ChildProcess(
      "timeout",
      [
        "\(seconds)", "nghttp", "-nv", "--no-dep", "-m", "\(count)", "-d", body, "-H", ":method: POST",
        "-H", "authorization: \(authorization)", "-H", "apns-topic: com.example.demo",
        "\(ready.url)/3/device/\(RequestHead.token)",
      ])
    try await nghttp.exit(within: .seconds(30))
    return nghttp.lines.joined(separator: "\n")
  }

  /// The ready line.
  struct Ready: Decodable {
    let port: Int
    let url: String
    let control: String
    let dir: String
    let caCertificate: String
    let keyPath: String?
    let keyId: String
    let teamId: String
  }

  /// The numbers of `GET /ledger`.
  struct Ledger: Decodable, Equatable {
    let received: Int
    let accepted: Int
    let distinct: Int
    let duplicates: Int
    let byStatus: [String: Int]
    let byReason: [String: Int]
    let connections: Int
    let goaways: Int
    let resets: Int
    let stalls: Int
    let drops: Int
  }
}

extension String {
  func count(of part: String) -> Int { components(separatedBy: part).count - 1 }
}

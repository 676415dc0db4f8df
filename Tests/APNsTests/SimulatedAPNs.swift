import EventLoop
import Foundation
import FoundationNetworking
import Telemetry
import TestSupport

@testable import APNs

/// A running `apns-simulator` and its control port.
struct SimulatedAPNs: Sendable {
  struct Ready: Decodable {
    let url: String
    let control: String
    let caCertificate: String
    let keyPath: String
    let keyId: String
    let teamId: String
  }

  struct Ledger: Decodable {
    let received: Int
    let accepted: Int
    let distinct: Int
    let duplicates: Int
    let connections: Int
    let openConnections: Int
    let tokensVerified: Int
    let goaways: Int
    let resets: Int
  }

  struct Recent: Decodable {
    let apnsId: String
    let token: String?
    let topic: String?
    let pushType: String?
    let priority: String?
    let collapseId: String?
    let expiration: String?
    let payloadBytes: Int
  }

  let ready: Ready
  private let process: ChildProcess

  /// Started by the first test that asks; ends with the test process.
  static let shared = Task { try await SimulatedAPNs() }

  init() async throws {
    process = try ChildProcess(try builtProduct("apns-simulator"), [])
    let line = try await process.line("its ready line") { $0.contains("\"ready\":true") }
    ready = try JSONDecoder().decode(Ready.self, from: Data(line.utf8))
  }

  /// As it was at its start.
  func reset() async throws {
    try await call("DELETE", "/faults")
    try await call("DELETE", "/devices")
    try await call("POST", "/settings", #"{"maxStreams":1000,"rttMs":0,"tokenUpdateSeconds":0,"topics":[]}"#)
    try await call("POST", "/ledger/reset")
  }

  func fault(_ json: String) async throws { try await call("POST", "/faults", json) }

  func clearFaults() async throws { try await call("DELETE", "/faults") }

  func device(_ json: String) async throws { try await call("POST", "/devices", json) }

  func settings(_ json: String) async throws { try await call("POST", "/settings", json) }

  func closeConnections() async throws { try await call("POST", "/connections/close") }

  var ledger: Ledger {
    get async throws { try JSONDecoder().decode(Ledger.self, from: try await call("GET", "/ledger")) }
  }

  func recent(_ count: Int) async throws -> [Recent] {
    try JSONDecoder().decode([Recent].self, from: try await call("GET", "/ledger/recent?n=\(count)"))
  }

  /// How often each apns-id was processed.
  var counts: [String: Int] {
    get async throws {
      let text = String(decoding: try await call("GET", "/ledger/ids"), as: UTF8.self)
      return text.split(separator: "\n").reduce(into: [:]) { counts, line in
        let parts = line.split(separator: " ")
        counts[String(parts[0])] = Int(parts[1])
      }
    }
  }

  /// A client with short limits.
  @EventLoop
  func client(
    _ change: (inout APNsConfiguration.Limits) -> Void = { _ in }, connections: Int = 1, log: Log = .silent
  ) throws -> APNsClient {
    var limits = APNsConfiguration.Limits()
    limits.tick = .milliseconds(20)
    limits.minimumConnectBackoff = .milliseconds(10)
    limits.maximumConnectBackoff = .milliseconds(50)
    change(&limits)
    let configuration = try APNsConfiguration(
      keyID: ready.keyId, teamID: ready.teamId,
      privateKeyPEM: try String(contentsOfFile: ready.keyPath, encoding: .utf8), endpointOverride: ready.url,
      caCertificatePEM: try String(contentsOfFile: ready.caCertificate, encoding: .utf8),
      connectionsPerEnvironment: connections, limits: limits)
    return APNsClient(configuration: configuration, metrics: Metrics(), log: log)
  }

  @discardableResult
  private func call(_ method: String, _ path: String, _ body: String = "") async throws -> Data {
    guard let url = URL(string: ready.control + path) else { throw TestTimeout("bad path \(path)") }
    var request = URLRequest(url: url)
    request.httpMethod = method
    if method == "POST" { request.httpBody = Data(body.utf8) }
    let (data, response) = try await URLSession.shared.data(for: request)
    guard (response as? HTTPURLResponse)?.statusCode == 200 else {
      throw TestTimeout("\(method) \(path): \(String(decoding: data, as: UTF8.self))")
    }
    return data
  }
}

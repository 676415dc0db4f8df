import EventLoop
import Foundation
import HTTPClient
import Telemetry
import TestSupport
import Testing

@testable import APNs

extension APNsConfiguration.Limits {
  /// No push ends, and no gateway counts as dead, because the machine is slow. What is tried again is tried soon.
  static var patient: Self {
    var limits = Self()
    limits.requestTimeout = patience
    limits.connectTimeout = patience
    limits.outagePatience = patience
    limits.pongTimeout = patience
    limits.tick = .milliseconds(20)
    limits.minimumConnectBackoff = .milliseconds(10)
    limits.maximumConnectBackoff = .milliseconds(50)
    return limits
  }
}

extension SimulatedGateway {
  /// Started by the first test that needs it; ends with the test process.
  static let shared = Task { try await SimulatedGateway() }

  /// Returns when no new provider token is due within a minute: a test that counts tokens then sees those that it causes.
  static func beginOfTokenWindow() async throws {
    try await eventually("more than a minute until the next token") { Clock.unixMilliseconds / 1000 % 3000 < 2940 }
  }

  /// A client that waits long for answers and not for attempts. `production`: another gateway for that environment.
  @EventLoop
  func client(
    _ change: (inout APNsConfiguration.Limits) -> Void = { _ in }, connections: Int = 1, most: Int = 4,
    metrics: Metrics? = nil,
    log: Log = .silent,
    trusting other: String = "", production: String? = nil
  ) throws -> APNsClient {
    var limits = APNsConfiguration.Limits.patient
    change(&limits)
    var gateway = APNsConfiguration.Gateway(
      endpointOverride: production ?? ready.url, sandboxOverride: ready.url,
      authorities: try TrustedCertificates(
        pem: String(contentsOfFile: ready.caCertificate, encoding: .utf8) + other))
    gateway.maximumConnections = most
    let configuration = try APNsConfiguration(
      keys: [
        .init(
          keyID: ready.keyId, teamID: ready.teamId,
          privateKeyPEM: try String(contentsOfFile: try #require(ready.keyPath), encoding: .utf8))
      ],
      gateway: gateway,
      connectionsPerEnvironment: connections, limits: limits)
    return APNsClient(configuration: configuration, metrics: metrics ?? Metrics(), log: log)
  }
}

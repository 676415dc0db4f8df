import EventLoop
import Foundation
import HTTPClient
import PushModel
import Telemetry
import TestSupport
import Testing

@testable import APNs

extension SimulatorTests {
  /// Two keys of one team: the first that APNs does not refuse signs.
  @Suite @EventLoop
  struct KeyChangeTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    private func client(
      _ lines: LogLines = LogLines(), metrics: Metrics = Metrics(), others: [String] = ["SECONDKEY1"],
      _ change: (inout APNsConfiguration.Limits) -> Void = { _ in }
    ) async throws -> APNsClient {
      var limits = APNsConfiguration.Limits.patient
      change(&limits)
      return APNsClient(
        configuration: try await configuration(others: others, limits: limits), metrics: metrics, log: lines.log)
    }

    private func configuration(
      others: [String] = ["SECONDKEY1"], connections: Int = 1, limits: APNsConfiguration.Limits = .patient
    ) async throws -> APNsConfiguration {
      var files = [(apns.ready.keyId, try #require(apns.ready.keyPath))]
      for id in others { files.append((id, try await apns.addKey(id, of: apns.ready.teamId))) }
      let keys = try files.map { id, path in
        APNsConfiguration.Credentials(
          keyID: id, teamID: apns.ready.teamId, privateKeyPEM: try String(contentsOfFile: path, encoding: .utf8))
      }
      return try APNsConfiguration(
        keys: keys,
        gateway: .init(
          endpointOverride: apns.ready.url,
          authorities: try TrustedCertificates(pem: String(contentsOfFile: apns.ready.caCertificate, encoding: .utf8))),
        connectionsPerEnvironment: connections, limits: limits)
    }

    @Test func `the second key signs when the first is refused, on a new connection and logged once`() async throws {
      let (lines, metrics) = (LogLines(), Metrics())
      let client = try await client(lines, metrics: metrics)
      defer { client.close() }
      try await apns.revokeKey(apns.ready.keyId)
      #expect(await client.outcomes(1...100).allSatisfy(\.isAccepted))
      let ledger = try await apns.ledger()
      #expect(ledger.byReason == ["InvalidProviderToken": 1])
      #expect(ledger.duplicates == 0)
      #expect(lines.count(containing: "APNs refuses a provider key") == 1)
      #expect(client.refusedKeys.map(\.keyID) == [apns.ready.keyId])
      #expect(client.refusedKeys.allSatisfy { !$0.signs })
      let sample = "martlet_apns_refused_keys{team=\"\(apns.ready.teamId)\",key=\"\(apns.ready.keyId)\"} 1"
      #expect(metrics.prometheusText().contains(sample))
      #expect(client.pausedRoutes.isEmpty)
    }

    @Test func `a push is sent again until the last key signs, and pauses no route`() async throws {
      let client = try await client(others: ["SECONDKEY1", "THIRDKEY01", "FOURTHKEY1"])
      defer { client.close() }
      for key in [apns.ready.keyId, "SECONDKEY1", "THIRDKEY01"] { try await apns.revokeKey(key) }
      #expect(await client.outcomes(1...20).allSatisfy(\.isAccepted))
      #expect(client.pausedRoutes.isEmpty)
      #expect(client.refusedKeys.map(\.keyID) == [apns.ready.keyId, "SECONDKEY1", "THIRDKEY01"])
    }

    @Test func `a refused key that several clients use is listed once`() async throws {
      let one = APNsApp(bundleIDs: ["com.a"], configuration: try await configuration())
      let two = APNsApp(bundleIDs: ["com.b"], configuration: try await configuration(connections: 2))
      let metrics = Metrics()
      let clients = AppClients(fallback: nil, apps: [one, two], metrics: metrics, log: .silent)
      defer { clients.close() }
      try await apns.revokeKey(apns.ready.keyId)
      for (bundleID, numbers) in [("com.a", 1...10), ("com.b", 11...20)] {
        let client = try #require(clients.target(of: bundleID)?.client(for: .production))
        _ = await client.outcomes(numbers, topic: bundleID)
      }
      #expect(clients.all.map { $0.refusedKeys.count } == [1, 1])
      #expect(clients.refusedKeys.map(\.keyID) == [apns.ready.keyId])
      let lines = metrics.prometheusText().split(separator: "\n")
      #expect(lines.count { $0.hasPrefix("martlet_apns_refused_keys{") } == 1)
    }

    @Test func `a key that is revoked under load loses no push and sends none twice`() async throws {
      let client = try await client()
      defer { client.close() }
      #expect(await client.outcomes(1...50).allSatisfy(\.isAccepted))
      let run = PushRun(of: 5000) { client }
      async let running: Void = run.run(atOnce: 200)
      try await eventually("some are accepted") { run.accepted > 500 }
      try await apns.revokeKey(apns.ready.keyId)
      await running
      #expect(run.accepted == 5000)
      // Perhaps all were sent before.
      #expect(await client.outcomes(5001...5050).allSatisfy(\.isAccepted))
      #expect(try await apns.ledger().byReason.keys.allSatisfy { $0.hasSuffix("ProviderToken") })
      #expect(client.refusedKeys.count == 1)
      #expect(client.pausedRoutes.isEmpty)
    }

    @Test func `a route that both keys are refused for is resumed with the one that works again`() async throws {
      let client = try await client { limits in
        limits.probeInterval = .milliseconds(100)
        limits.keyChangeInterval = .milliseconds(50)
      }
      defer { client.close() }
      try await apns.revokeKey(apns.ready.keyId)
      try await apns.revokeKey("SECONDKEY1")
      _ = await client.outcomes(1...10)
      #expect(client.pausedRoutes.map(\.reason) == ["InvalidProviderToken"])
      try await apns.revokeKey("SECONDKEY1", false)
      var number = 100
      try await eventually("resumed") {
        number += 1
        return await client.outcomes(number...number)[0].isAccepted
      }
      #expect(await client.outcomes(10_000...10_050).allSatisfy(\.isAccepted))
      #expect(client.pausedRoutes.isEmpty)
      #expect(client.refusedKeys.map(\.keyID) == [apns.ready.keyId])
    }

    @Test func `the first key is tried again after a while and signs if it is accepted`() async throws {
      let lines = LogLines()
      let client = try await client(lines) { $0.keyRetryInterval = .milliseconds(300) }
      defer { client.close() }
      try await apns.revokeKey(apns.ready.keyId)
      #expect(await client.outcomes(1...10).allSatisfy(\.isAccepted))
      try await apns.revokeKey(apns.ready.keyId, false)
      var number = 100
      try await eventually("the first key is accepted again") {
        number += 1
        #expect(await client.outcomes(number...number)[0].isAccepted)
        return client.refusedKeys.isEmpty
      }
      #expect(lines.count(containing: "APNs accepts the provider key again") == 1)
    }

    @Test func `another refusal does not change the key`() async throws {
      let client = try await client()
      defer { client.close() }
      try await apns.settings(#"{"topics":["com.good"]}"#)
      _ = await client.outcomes(1...5, topic: "com.bad")
      try await apns.fault(#"{"kind":"status","status":403,"reason":"Forbidden","count":2}"#)
      _ = await client.outcomes(6...6, topic: "com.good")
      #expect(client.refusedKeys.isEmpty)
    }
  }
}

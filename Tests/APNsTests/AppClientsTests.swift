import EventLoop
import Foundation
import HTTPClient
import Telemetry
import TestSupport
import Testing

@testable import APNs
@testable import PushModel

extension SimulatorTests {
  /// Several apps with keys of their own.
  @Suite @EventLoop
  struct AppClientsTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    private func app(
      _ bundleID: String, key: String, team: String, at endpoint: String? = nil, connections: Int = 1,
      _ change: (inout APNsConfiguration.Limits) -> Void = { _ in }
    ) async throws -> APNsApp {
      let path = try await apns.addKey(key, of: team, topics: [bundleID])
      return try app(bundleID, key: key, team: team, path: path, at: endpoint, connections: connections, change)
    }

    private func app(
      _ bundleID: String, key: String, team: String, path: String, at endpoint: String? = nil, connections: Int = 1,
      _ change: (inout APNsConfiguration.Limits) -> Void = { _ in }
    ) throws -> APNsApp {
      var limits = APNsConfiguration.Limits.patient
      change(&limits)
      return APNsApp(
        bundleIDs: [bundleID],
        configuration: try APNsConfiguration(
          keys: [
            .init(
              keyID: key, teamID: team, privateKeyPEM: try String(contentsOfFile: path, encoding: .utf8))
          ],
          gateway: .init(
            endpointOverride: endpoint ?? apns.ready.url,
            authorities: try TrustedCertificates(
              pem: String(contentsOfFile: apns.ready.caCertificate, encoding: .utf8))),
          connectionsPerEnvironment: connections, limits: limits))
    }

    private func outcomes(
      _ clients: AppClients, _ numbers: ClosedRange<Int>, _ bundleID: String
    ) async throws -> [SendOutcome] {
      await (try #require(clients.target(of: bundleID)?.client(for: .production))).outcomes(numbers, topic: bundleID)
    }

    @Test func `pushes to apps of two teams carry the key of their app`() async throws {
      let clients = AppClients(
        fallback: nil,
        apps: [
          try await app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1"),
          try await app("com.b", key: "KEYBBBBBB1", team: "TEAMBBBBB1"),
        ], metrics: Metrics(), log: .silent)
      defer { clients.close() }
      clients.start()
      #expect(clients.isServing, "no connection is needed yet")
      #expect(clients.takesPushes)
      #expect(try await apns.ledger().connections == 0)
      #expect(try await outcomes(clients, 1...20, "com.a").allSatisfy(\.isAccepted))
      #expect(try await outcomes(clients, 21...40, "com.b").allSatisfy(\.isAccepted))
      #expect(try await apns.ledger().connections == 2)
      #expect(clients.target(of: "com.c") == nil)
    }

    @Test func `a refused key of one team pauses nothing of another`() async throws {
      let clients = AppClients(
        fallback: nil,
        apps: [
          try await app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1"),
          try await app("com.b", key: "KEYBBBBBB1", team: "TEAMBBBBB1"),
        ], metrics: Metrics(), log: .silent)
      defer { clients.close() }
      try await apns.revokeKey("KEYAAAAAA1")
      _ = try await outcomes(clients, 1...10, "com.a")
      #expect(try await outcomes(clients, 11...30, "com.b").allSatisfy(\.isAccepted))
      #expect(clients.pausedRoutes.map(\.topic) == ["com.a"])
      #expect(clients.takesPushes)
    }

    @Test func `a route stays paused when the apps are read again, until its key changes`() async throws {
      let first = try await app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1")
      let other = try await app("com.b", key: "KEYBBBBBB1", team: "TEAMBBBBB1")
      let clients = AppClients(fallback: nil, apps: [first], metrics: Metrics(), log: .silent)
      defer { clients.close() }
      try await apns.revokeKey("KEYAAAAAA1")
      _ = try await outcomes(clients, 1...10, "com.a")
      let paused = clients.pausedRoutes
      #expect(paused.map(\.topic) == ["com.a"])
      #expect(clients.replace(apps: [other, first]) == AppChange(added: 1))
      #expect(clients.pausedRoutes == paused)
      let received = try await apns.ledger().received
      #expect(try await outcomes(clients, 11...20, "com.a").allSatisfy(\.isNotProcessed))
      #expect(try await apns.ledger().received == received)
      let changed = try await app("com.a", key: "KEYAAAAAA2", team: "TEAMAAAAA1")
      #expect(clients.replace(apps: [other, changed]) == AppChange(changed: 1))
      #expect(try await outcomes(clients, 21...30, "com.a").allSatisfy(\.isAccepted))
      #expect(clients.pausedRoutes.isEmpty)
    }

    @Test func `a gateway out of reach stops the claims only if no other can be reached`() async throws {
      let port = try freePort()
      let down = try await app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1", at: "https://127.0.0.1:\(port)") {
        $0.outagePatience = .milliseconds(200)
      }
      let up = try await app("com.b", key: "KEYBBBBBB1", team: "TEAMBBBBB1")
      let metrics = Metrics()
      let clients = AppClients(fallback: nil, apps: [down], metrics: metrics, log: .silent)
      defer { clients.close() }
      clients.start()
      #expect(try await outcomes(clients, 1...5, "com.a").allSatisfy(\.isNotProcessed))
      try await eventually("claims stop") { !clients.takesPushes && !clients.isServing }
      let sample = "martlet_apns_unreachable_gateways{gateway=\"https://127.0.0.1:\(port)\"} 1"
      #expect(metrics.prometheusText().contains(sample))
      #expect(clients.replace(apps: [down, up]) == AppChange(added: 1))
      try await eventually("the other gateway was tried and claims go on") {
        clients.takesPushes ? try await apns.ledger().connections == 1 : false
      }
      #expect(try await outcomes(clients, 6...10, "com.b").allSatisfy(\.isAccepted))
      #expect(clients.isServing)
      #expect(clients.takesPushes)
    }

    @Test func `connections of an app without pushes are closed, and opened again by the next`() async throws {
      let clients = AppClients(
        fallback: nil,
        apps: [
          try await app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1") { $0.idleBeforeClose = .milliseconds(100) }
        ], metrics: Metrics(), log: .silent)
      defer { clients.close() }
      clients.start()
      for round in 0..<3 {
        #expect(try await outcomes(clients, (round * 10 + 1)...(round * 10 + 10), "com.a").allSatisfy(\.isAccepted))
        try await eventually("closed") { try await apns.ledger().openConnections == 0 }
        #expect(clients.isServing)
        #expect(clients.takesPushes)
      }
      #expect(try await apns.ledger().connections == 3)
    }

    @Test func `with too many connections those without a push for longest are closed`() async throws {
      var apps: [APNsApp] = []
      for number in 1...5 {
        apps.append(try await app("com.app\(number)", key: "KEYAAAAAA\(number)", team: "TEAMAAAAA\(number)"))
      }
      let clients = AppClients(fallback: nil, apps: apps, metrics: Metrics(), log: .silent)
      defer { clients.close() }
      clients.maximumConnections = 2
      for number in [1, 2, 1, 3, 4, 5] {
        let sent = try await outcomes(clients, (number * 10)...(number * 10 + 5), "com.app\(number)")
        #expect(sent.allSatisfy { $0.isAccepted })
      }
      try await eventually("two are left") { try await apns.ledger().openConnections == 2 }
      #expect(try await apns.ledger().connections == 5, "that of the first app was used last but one")
      #expect(try await outcomes(clients, 100...100, "com.app4").allSatisfy(\.isAccepted))
      #expect(try await apns.ledger().connections == 5)
    }

    @Test func `a changed key is taken up under load: no push is lost and none is sent twice`() async throws {
      let first = try await app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1", connections: 2)
      let clients = AppClients(fallback: nil, apps: [first], metrics: Metrics(), log: .silent)
      defer { clients.close() }
      let path = try await apns.addKey("KEYAAAAAA2", of: "TEAMAAAAA1")
      let changed = try app("com.a", key: "KEYAAAAAA2", team: "TEAMAAAAA1", path: path, connections: 2)
      try await apns.settings(#"{"rttMs":20}"#)
      let stream = PushRun(of: 4000, topic: "com.a") { clients.target(of: "com.a")?.client(for: .production) }
      async let running: Void = stream.run(atOnce: 300)
      try await eventually("some are accepted") { stream.accepted > 500 }
      let old = try #require(clients.target(of: "com.a")?.client(for: .production))
      #expect(clients.replace(apps: [changed]) == AppChange(changed: 1))
      #expect(try #require(clients.target(of: "com.a")?.client(for: .production)) !== old)
      await running
      #expect(stream.others == [])
      #expect(stream.accepted == 4000)
      let ledger = try await apns.ledger()
      #expect(ledger.accepted == 4000)
      #expect(ledger.received == 4000)
      #expect(ledger.duplicates == 0)
      try await eventually("the old client is closed") { clients.all.count == 1 }
      try await eventually("its connections are too") { try await apns.ledger().openConnections == 2 }
    }

    @Test func `pushes that wait for an unreachable gateway move to the new one`() async throws {
      let port = try freePort()
      let down = try await app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1", at: "https://127.0.0.1:\(port)")
      let clients = AppClients(fallback: nil, apps: [down], metrics: Metrics(), log: .silent)
      defer { clients.close() }
      async let waiting = outcomes(clients, 1...10, "com.a")
      try await eventually("they wait") { clients.all.first?.queued == 10 }
      let up = try app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1", path: "\(apns.directory)/AuthKey_KEYAAAAAA1.p8")
      #expect(clients.replace(apps: [up]) == AppChange(changed: 1))
      #expect(try await waiting.allSatisfy(\.isAccepted))
    }

    @Test func `pushes to a removed app end as not processed, and those in flight are answered`() async throws {
      let clients = AppClients(
        fallback: nil,
        apps: [
          try await app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1"),
          try await app("com.b", key: "KEYBBBBBB1", team: "TEAMBBBBB1"),
        ], metrics: Metrics(), log: .silent)
      defer { clients.close() }
      _ = try await outcomes(clients, 1...1, "com.a")
      try await apns.settings(#"{"rttMs":100,"maxStreams":10}"#)
      let client = try #require(clients.target(of: "com.a")?.client(for: .production))
      async let left = client.outcomes(2...41, topic: "com.a")
      try await eventually("in flight") { client.inFlight == 10 }
      let path = "\(apns.directory)/AuthKey_KEYBBBBBB1.p8"
      let rest = try app("com.b", key: "KEYBBBBBB1", team: "TEAMBBBBB1", path: path)
      #expect(clients.replace(apps: [rest]) == AppChange(removed: 1))
      let outcomes = await left
      #expect((10..<40).contains(outcomes.count(where: \.isAccepted)))
      #expect(outcomes.allSatisfy { $0.isAccepted || $0.isNotProcessed })
      #expect(clients.target(of: "com.a") == nil)
    }

    @Test func `without apps everything goes to the fallback`() async throws {
      let clients = AppClients(
        fallback: try await app("com.a", key: "KEYAAAAAA1", team: "TEAMAAAAA1").configurations[0], metrics: Metrics(),
        log: .silent)
      defer { clients.close() }
      #expect(!clients.takesPushes)
      clients.start()
      try await eventually("connected") { clients.takesPushes && clients.isServing }
      #expect(try await outcomes(clients, 1...10, "com.a").allSatisfy(\.isAccepted))
      #expect(try await outcomes(clients, 11...20, "com.unknown").allSatisfy(\.isAccepted))
      #expect(try await apns.ledger().connections == 1)
    }
  }
}

import EventLoop
import Foundation
import HTTPClient
import Telemetry
import TestSupport
import Testing

@testable import APNs
@testable import PushModel

extension SimulatorTests {
  /// Apps whose keys are for one environment, and a sandbox with a gateway of its own.
  @Suite @EventLoop
  struct RestrictedKeyTests {
    private static let sandbox = Task { try await SimulatedGateway() }
    let apns: SimulatedGateway
    let sandbox: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      sandbox = try await Self.sandbox.value
      try await apns.reset()
      try await sandbox.reset()
    }

    /// Makes a key that only the gateway of `environment` accepts.
    private func key(_ id: String, _ environment: PushEnvironment) async throws -> AppKey {
      let gateway = environment == .production ? apns : sandbox
      let path = try await gateway.addKey(id, of: "TEAMAAAAA1", topics: ["com.a"])
      let pem = try String(contentsOfFile: path, encoding: .utf8)
      return AppKey(.init(keyID: id, teamID: "TEAMAAAAA1", privateKeyPEM: pem), environment: environment)
    }

    private func clients(_ keys: AppKey...) throws -> AppClients {
      let authorities = try [apns, sandbox].map { try String(contentsOfFile: $0.ready.caCertificate, encoding: .utf8) }
      let app = try APNsApp(
        bundleIDs: ["com.a"], keys: keys,
        gateway: .init(
          endpointOverride: apns.ready.url, sandboxOverride: sandbox.ready.url,
          authorities: try TrustedCertificates(pem: authorities.joined(separator: "\n"))))
      return AppClients(fallback: nil, apps: [app], metrics: Metrics(), log: .silent)
    }

    /// Returns whether a push is accepted. On a slow machine a push may end before there is a connection.
    private func isAccepted(_ number: Int, _ clients: AppClients, _ environment: PushEnvironment) async throws -> Bool {
      let client = try #require(clients.target(of: "com.a")?.client(for: environment))
      var outcome = SendOutcome.notProcessed("")
      try await eventually("an answer") {
        outcome = await client.outcome {
          TestPush.make(number, topic: "com.a", environment: environment, completion: $0)
        }
        return !outcome.isNotProcessed
      }
      return outcome.isAccepted
    }

    @Test func `each environment has its own key and gateway`() async throws {
      let clients = try clients(
        try await key("KEYPROD001", .production), try await key("KEYSAND001", .sandbox))
      defer { clients.close() }
      #expect(try await isAccepted(1, clients, .production))
      #expect(try await isAccepted(2, clients, .sandbox))
      #expect(try await apns.ledger().accepted == 1)
      #expect(try await sandbox.ledger().accepted == 1)
      let state = try #require(clients.states.first)
      #expect(state.keys.map(\.id) == ["KEYPROD001", "KEYSAND001"])
      #expect(state.keys.allSatisfy { $0.state == .signs })
      #expect(state.gateways.map(\.url) == [apns.ready.url, sandbox.ready.url])
    }

    @Test func `an app whose keys are for one environment sends there only`() async throws {
      let clients = try clients(try await key("KEYSAND001", .sandbox))
      defer { clients.close() }
      let target = try #require(clients.target(of: "com.a"))
      #expect(target.client(for: .production) == nil)
      #expect(target.environment(else: .production) == .sandbox)
      #expect(target.otherClient(than: .sandbox) == nil)
      #expect(try await isAccepted(1, clients, .sandbox))
      #expect(try await apns.ledger().connections == 0)
    }

    @Test func `the second key of an environment signs when the first is refused, which the other does not notice`()
      async throws
    {
      let clients = try clients(
        try await key("KEYSAND001", .sandbox), try await key("KEYPROD001", .production),
        try await key("KEYSAND002", .sandbox))
      defer { clients.close() }
      try await sandbox.revokeKey("KEYSAND001")
      #expect(try await isAccepted(1, clients, .sandbox))
      #expect(try await isAccepted(2, clients, .production))
      #expect(try await sandbox.ledger().byReason == ["InvalidProviderToken": 1])
      #expect(clients.refusedKeys.map(\.keyID) == ["KEYSAND001"])
      let states = Dictionary(uniqueKeysWithValues: try #require(clients.states.first).keys.map { ($0.id, $0.state) })
      #expect(states == ["KEYSAND001": .refused, "KEYPROD001": .signs, "KEYSAND002": .signs])
    }

    @Test func `claims stop when the only gateway that keys are for is out of reach`() async throws {
      let key = try await key("KEYSAND001", .sandbox)
      let port = try freePort()
      let app = try APNsApp(
        bundleIDs: ["com.a"], keys: [key],
        gateway: .init(endpointOverride: apns.ready.url, sandboxOverride: "https://127.0.0.1:\(port)"))
      let clients = AppClients(fallback: nil, apps: [app], metrics: Metrics(), log: .silent)
      defer { clients.close() }
      clients.start()
      clients.target(of: "com.a")?.client(for: .sandbox)?.send(TestPush.make(topic: "com.a", environment: .sandbox))
      try await eventually("claims stop") { !clients.takesPushes }
      #expect(try await apns.ledger().connections == 0, "no key is for production")
    }
  }
}

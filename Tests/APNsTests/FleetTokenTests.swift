import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import APNs

extension SimulatorTests {
  /// Workers that share a key and nothing else.
  @Suite @EventLoop
  struct FleetTokenTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    @Test func `fifty workers with one key use one provider token, and APNs never asks for fewer`() async throws {
      // In the last minutes of a window it could end between two workers.
      try await eventually("more than three minutes until the next token") {
        Clock.unixMilliseconds / 1000 % 3000 < 2820
      }
      try await apns.settings(#"{"tokenUpdateSeconds":1200}"#)
      let clients = try (0..<50).map { _ in try apns.client() }
      defer { for client in clients { client.close() } }
      for (number, client) in clients.enumerated() {
        let first = number * 10 + 1
        #expect(await client.outcomes(first...(first + 9)).allSatisfy(\.isAccepted), "worker \(number)")
      }
      let ledger = try await apns.ledger()
      #expect(ledger.accepted == 500)
      #expect(ledger.byReason == [:])
      #expect(ledger.connections == 50)
      #expect(ledger.providerTokens == 1)
      try await apns.settings(#"{"tokenUpdateSeconds":0}"#)
    }

    /// A revoked key, a refusal of single devices, an error of the gateway.
    @Test(arguments: [
      (403, "InvalidProviderToken", 2), (403, "ExpiredProviderToken", 2), (403, "Forbidden", 1),
      (403, "NeverHeardOf", 1),
      (429, "TooManyProviderTokenUpdates", 1), (500, "InternalServerError", 1),
    ])
    func `eight workers that are refused show APNs one more token at most`(
      status: Int, reason: String, tokens: Int
    ) async throws {
      // An own token is of five minutes, which could end between two workers.
      try await eventually("more than a minute until the next token") { Clock.unixMilliseconds / 1000 % 300 < 240 }
      try await apns.fault(#"{"kind":"status","status":\#(status),"reason":"\#(reason)"}"#)
      let clients = try (0..<8).map { _ in try apns.client { $0.probeInterval = .milliseconds(100) } }
      defer { for client in clients { client.close() } }
      for round in 0..<5 {
        for (number, client) in clients.enumerated() {
          let first = (round * 8 + number) * 10 + 1
          #expect(await client.outcomes(first...(first + 9)).allSatisfy { !$0.isAccepted })
        }
      }
      #expect(try await apns.ledger().providerTokens == tokens)
    }
  }
}

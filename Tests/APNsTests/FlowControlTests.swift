import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import APNs

extension SimulatorTests {
  /// More connections are open only while pushes wait for them.
  @Suite @EventLoop
  struct FlowControlTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    private func send(
      _ numbers: ClosedRange<Int>, bytes: Int, through client: APNsClient, refusing: (Int) -> Bool = { _ in false }
    ) async -> [SendOutcome] {
      let text = String(repeating: "a", count: bytes)
      let payload = Array(#"{"aps":{"alert":"\#(text)"}}"#.utf8)
      var outcomes: [SendOutcome] = []
      await withCheckedContinuation { continuation in
        for number in numbers {
          let token = refusing(number) ? Self.refused : TestPush.token
          client.send(
            TestPush.make(number, token: token, payload: payload) {
              outcomes.append($0)
              if outcomes.count == numbers.count { continuation.resume() }
            })
        }
      }
      return outcomes
    }

    private static let refused = String(repeating: "ce", count: 32)

    @Test func `pushes that wait for the window get more connections, which close when nothing waits`() async throws {
      try await apns.settings(#"{"rttMs":100}"#)
      let metrics = Metrics()
      let client = try apns.client({ $0.idleBeforeClose = .milliseconds(500) }, metrics: metrics)
      defer { client.close() }
      async let outcomes = send(1...2000, bytes: 3000, through: client)
      try await eventually("pushes are held back") { client.heldBack > 0 }
      #expect(!metrics.prometheusText().contains("martlet_apns_held_back_pushes 0\n"))
      #expect(await outcomes.allSatisfy(\.isAccepted))
      let ledger = try await apns.ledger()
      #expect((2...4).contains(client.instruments.connections.value))
      #expect(ledger.duplicates == 0)
      try await eventually("one is left") { try await apns.ledger().openConnections == 1 }
      #expect(await client.outcomes(3001...3010).allSatisfy(\.isAccepted))
    }

    @Test func `pushes that wait because others were refused get more connections`() async throws {
      try await apns.device(Self.refused, #""rule":"bad""#)
      try await apns.settings(#"{"rttMs":50,"maxStreams":50}"#)
      let client = try apns.client()
      defer { client.close() }
      let outcomes = await send(1...600, bytes: 10, through: client) { $0.isMultiple(of: 2) }
      #expect(outcomes.count(where: \.isAccepted) == 300)
      let ledger = try await apns.ledger()
      #expect((2...4).contains(client.instruments.connections.value))
      #expect(ledger.duplicates == 0)
    }

    @Test func `pushes get more connections also if all of them are refused`() async throws {
      try await apns.device(Self.refused, #""rule":"bad""#)
      try await apns.settings(#"{"rttMs":50}"#)
      let client = try apns.client()
      defer { client.close() }
      let outcomes = await send(1...100, bytes: 10, through: client) { _ in true }
      #expect(outcomes.count(where: \.isAccepted) == 0)
      #expect((2...4).contains(client.instruments.connections.value))
      #expect(try await apns.ledger().duplicates == 0)
    }

    @Test func `pushes that do not wait need one connection`() async throws {
      try await apns.settings(#"{"rttMs":20}"#)
      let client = try apns.client()
      defer { client.close() }
      let run = PushRun(of: 5000) { client }
      await run.run(atOnce: 50)
      #expect(run.accepted == 5000)
      #expect(client.instruments.connections.value == 1)
    }
  }
}

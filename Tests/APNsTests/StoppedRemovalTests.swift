import EventLoop
import PushModel
import Telemetry
import TestSupport
import Testing

@testable import APNs

extension SimulatorTests {
  /// Which refused tokens are removed, and when removal stops.
  @Suite @EventLoop
  struct StoppedRemovalTests {
    private static let bad = String(repeating: "cd", count: 32)
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
      try await apns.device(Self.bad, #""rule":"bad""#)
    }

    /// Whether the refused token of `owner` may be removed.
    private func isRemoved(_ client: APNsClient, _ number: Int, _ owner: PushOwner?, token: String = bad) async -> Bool
    {
      var sent: Push?
      let outcome = await client.outcome { completion in
        let push = TestPush.make(number, token: token, owner: owner, completion: completion)
        sent = push
        return push
      }
      guard case .answered(let answer) = outcome, let sent else { return false }
      let gone = APNsAnswer(status: 410, reason: "Unregistered", timestamp: 1)
      #expect(client.removalAllowed(for: sent, after: gone), "a token with a date is invalid")
      return client.removalAllowed(for: sent, after: answer)
    }

    @Test func `the invalid tokens of one user do not stop the removal or the app's pushes`() async throws {
      let client = try apns.client()
      defer { client.close() }
      for number in 1...120 { #expect(await isRemoved(client, number, .user("mallory"))) }
      #expect(client.stoppedRemovals.isEmpty)
      #expect(client.pausedRoutes.isEmpty)
      #expect(await client.outcomes(1001...1010).allSatisfy(\.isAccepted))
    }

    @Test func `when the tokens of 20 users are refused they are kept, and sending continues`() async throws {
      let (lines, metrics) = (LogLines(), Metrics())
      let client = try apns.client(metrics: metrics, log: lines.log)
      defer { client.close() }
      var removed = 0
      for number in 1...60 where await isRemoved(client, number, .user("user\(number)")) { removed += 1 }
      #expect(removed == RemovalGuard.minimumSuspects - 1)
      #expect(client.pausedRoutes.isEmpty)
      #expect(try await apns.ledger().received == 60)
      #expect(client.stoppedRemovals.map(\.reason) == ["BadDeviceToken"])
      #expect(metrics.prometheusText().contains("martlet_apns_stopped_removals{environment=\"production\",topic="))
      #expect(lines.count(containing: "so they are kept") == 1)
      // Fixed: the same users are accepted.
      for number in 1...60 {
        _ = await client.outcome { TestPush.make(1000 + number, owner: .user("user\(number)"), completion: $0) }
      }
      #expect(client.stoppedRemovals.isEmpty)
      #expect(lines.count(containing: "removed again") == 1)
      #expect(await isRemoved(client, 2000, .user("user1")))
    }

    @Test func `a push that was refused without sending it does not count`() async throws {
      let client = try apns.client()
      defer { client.close() }
      for number in 1...100 {
        #expect(await isRemoved(client, number, .user("user\(number)"), token: "no token"))
      }
      #expect(client.stoppedRemovals.isEmpty)
      #expect(await isRemoved(client, 101, .user("alice")))
    }
  }
}

import EventLoop
import TestSupport
import Testing

@testable import APNs

extension SimulatorTests {
  /// A client whose owner may lose its right to send while pushes wait for a free stream.
  @Suite @EventLoop
  struct ForbiddenWritingTests {
    @EventLoop
    private final class Owner {
      var maySend = true
      var outcomes: [SendOutcome] = []
    }

    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    @Test func `pushes that wait for a free stream are not written once writing is forbidden`() async throws {
      try await apns.settings(#"{"rttMs":200,"maxStreams":1}"#)
      let client = try apns.client()
      defer { client.close() }
      let owner = Owner()
      client.mayWrite = { owner.maySend }
      for number in 1...5 { client.send(TestPush.make(number) { owner.outcomes.append($0) }) }
      try await client.turns(untilInFlight: 1)
      owner.maySend = false
      try await eventually("all have ended") { owner.outcomes.count == 5 }
      #expect(owner.outcomes.count(where: \.isAccepted) == 1)
      #expect(owner.outcomes.count { $0 == .notProcessed("LeaseInDoubt") } == 4)
      #expect(try await apns.ledger().received == 1)
      owner.maySend = true
      #expect(await client.outcomes(6...8).allSatisfy(\.isAccepted))
    }
  }
}

import EventLoop
import TestSupport
import Testing

@testable import APNs

extension SimulatorTests {
  @Suite @EventLoop
  struct FaultTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    @Test func `GOAWAYs during sending lose nothing and send nothing twice`() async throws {
      try await apns.fault(#"{"kind":"goaway","every":250}"#)
      let client = try apns.client { $0.maximumResends = 50 }
      defer { client.close() }
      #expect(await client.outcomes(1...5000).allSatisfy(\.isAccepted))
      let ledger = try await apns.ledger()
      #expect(ledger.goaways >= 19)
      #expect(ledger.distinct == 5000)
      #expect(ledger.duplicates == 0)
    }

    @Test func `GOAWAYs during a steady stream of pushes leave no push uncertain`() async throws {
      try await apns.fault(#"{"kind":"goaway","every":200}"#)
      let client = try apns.client { $0.maximumResends = 50 }
      defer { client.close() }
      let run = PushRun(of: 10_000) { client }
      await run.run(atOnce: 300)
      #expect(run.accepted == 10_000)
      #expect(try await apns.ledger().duplicates == 0)
    }

    @Test func `after an abrupt GOAWAY only what was processed is uncertain`() async throws {
      try await apns.fault(#"{"kind":"goaway","every":100,"abrupt":true,"unanswered":5}"#)
      let client = try apns.client { $0.maximumResends = 20 }
      defer { client.close() }
      let outcomes = await client.outcomes(1...1000)
      let counts = try await apns.counts()
      #expect(outcomes.contains { $0.isUncertain })
      for (index, outcome) in outcomes.enumerated() {
        #expect(outcome.isAccepted || outcome.isUncertain, "\(outcome)")
        #expect(counts[TestPush.id(index + 1)] == 1)
      }
    }

    @Test func `refused streams are sent again`() async throws {
      try await apns.fault(#"{"kind":"reset","every":10,"code":7}"#)
      let client = try apns.client { $0.maximumResends = 20 }
      defer { client.close() }
      #expect(await client.outcomes(1...500).allSatisfy(\.isAccepted))
      let ledger = try await apns.ledger()
      #expect(ledger.resets >= 50)
      #expect(ledger.duplicates == 0)
    }

    @Test func `a stream that is refused each time is reported as not processed`() async throws {
      try await apns.fault(#"{"kind":"reset","code":7}"#)
      let client = try apns.client()
      defer { client.close() }
      #expect(await client.outcomes(1...1) == [.notProcessed("RefusedStream")])
      #expect(try await apns.ledger().resets == 4)
    }

    @Test func `a stream reset for another reason is uncertain and not sent again`() async throws {
      try await apns.fault(#"{"kind":"reset","code":2,"processed":true,"after":1}"#)
      let client = try apns.client()
      defer { client.close() }
      let outcomes = await client.outcomes(1...20)
      #expect(outcomes[0].isAccepted)
      #expect(outcomes.dropFirst().allSatisfy { $0 == .uncertain("StreamReset_2") })
      #expect(try await apns.ledger().duplicates == 0)
    }

    @Test func `a dropped connection leaves the written pushes uncertain and the rest arrives`() async throws {
      try await apns.settings(#"{"maxStreams":50}"#)
      try await apns.fault(#"{"kind":"drop","processed":true,"after":100,"count":1}"#)
      let client = try apns.client()
      defer { client.close() }
      let outcomes = await client.outcomes(1...500)
      let uncertain = outcomes.count(where: \.isUncertain)
      #expect((1...50).contains(uncertain))
      #expect(outcomes.count(where: \.isAccepted) == 500 - uncertain)
      #expect(try await apns.ledger().duplicates == 0)
    }

    @Test func `a push that is never answered ends at its deadline`() async throws {
      let client = try apns.client { $0.requestTimeout = .milliseconds(500) }
      defer { client.close() }
      client.start()
      try await eventually("connected") { client.isConnected }
      try await apns.fault(#"{"kind":"stall","processed":true}"#)
      #expect(await client.outcomes(1...1) == [.uncertain("Timeout")])
    }

    /// The first push of a connection, and a later one.
    @Test(arguments: [0, 5])
    func `a push that is never answered delays no other`(after: Int) async throws {
      try await apns.fault(#"{"kind":"stall","processed":true,"after":\#(after),"count":1}"#)
      let client = try apns.client { $0.quietBeforePing = .milliseconds(100) }
      defer { client.close() }
      var accepted = 0
      for number in 1...50 {
        client.send(TestPush.make(number) { outcome in accepted += outcome.isAccepted ? 1 : 0 })
      }
      try await eventually("the others are accepted") { accepted == 49 }
      #expect(client.inFlight == 1)
    }

    @Test func `a server that never answers gets a new connection`() async throws {
      try await apns.fault(#"{"kind":"stall","after":5,"answerPings":false}"#)
      let client = try apns.client {
        $0.quietBeforePing = .milliseconds(100)
        $0.pongTimeout = .milliseconds(300)
      }
      defer { client.close() }
      // An answer that comes late is one that never came: on a slow machine more of them are uncertain.
      let outcomes = await client.outcomes(1...20)
      #expect(outcomes.count(where: \.isUncertain) >= 15)
      try await apns.clearFaults()
      var number = 20
      try await eventually("the new connection serves") {
        number += 1
        return await client.outcomes(number...number)[0].isAccepted
      }
    }

    @Test func `a server that accepts without TLS loses no push`() async throws {
      try await apns.fault(#"{"kind":"acceptStall"}"#)
      let client = try apns.client { $0.connectTimeout = .seconds(3) }
      defer { client.close() }
      async let outcomes = client.outcomes(1...20)
      try await eventually("two attempts") { try await apns.ledger().connections >= 2 }
      try await apns.clearFaults()
      #expect(await outcomes.allSatisfy(\.isAccepted))
    }

    @Test func `answers that come before the body are answers`() async throws {
      try await apns.fault(#"{"kind":"early"}"#)
      let client = try apns.client()
      defer { client.close() }
      #expect(await client.outcomes(1...500).allSatisfy(\.isAccepted))
      #expect(try await apns.ledger().duplicates == 0)
    }

    @Test func `a connection that dies while idle is replaced`() async throws {
      let client = try apns.client()
      defer { client.close() }
      #expect(await client.outcomes(1...1).first?.isAccepted == true)
      for round in 0..<3 {
        try await apns.closeConnections()
        let first = 100 * (round + 1)
        #expect(await client.outcomes(first...(first + 50)).allSatisfy { !$0.isNotProcessed })
      }
      try await eventually("connected") { client.isConnected }
    }

    @Test func `a push whose answer asks for another connection is sent again`() async throws {
      try await apns.fault(#"{"kind":"status","status":503,"reason":"Shutdown","after":10,"count":1}"#)
      let client = try apns.client()
      defer { client.close() }
      #expect(await client.outcomes(1...100).allSatisfy(\.isAccepted))
    }

    @Test func `an answer of a throttled service has its retry time`() async throws {
      try await apns.fault(#"{"kind":"status","status":503,"retryAfter":9,"count":1}"#)
      let client = try apns.client()
      defer { client.close() }
      let expected = APNsAnswer(status: 503, reason: "ServiceUnavailable", retryAfterSeconds: 9)
      #expect(await client.outcomes(1...1) == [.answered(expected)])
    }
  }
}

import EventLoop
import TestSupport
import Testing

@testable import APNs
@testable import PushModel

/// The suites that share one simulator, one test at a time.
@Suite(.serialized) @EventLoop
struct SimulatorTests {}

extension SimulatorTests {
  @Suite @EventLoop
  struct DeliveryTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    @Test func `a thousand pushes arrive once each over one connection with one provider token`() async throws {
      let client = try apns.client()
      defer { client.close() }
      client.start()
      #expect(await client.outcomes(1...1000).allSatisfy(\.isAccepted))
      // An earlier test may have ended while a connection was opening.
      try await eventually("one connection") { try await apns.ledger().openConnections == 1 }
      let ledger = try await apns.ledger()
      #expect(ledger.accepted == 1000)
      #expect(ledger.distinct == 1000)
      #expect(ledger.duplicates == 0)
      #expect(client.queued == 0)
      #expect(client.inFlight == 0)
      #expect(client.isConnected)
    }

    @Test func `several connections share the pushes and the provider token`() async throws {
      let client = try apns.client(connections: 3)
      defer { client.close() }
      client.start()
      try await eventually("three connections") { try await apns.ledger().openConnections == 3 }
      #expect(await client.outcomes(1...2000).allSatisfy(\.isAccepted))
      #expect(try await apns.ledger().duplicates == 0)
    }

    @Test func `the headers of a push are what was asked for`() async throws {
      let client = try apns.client()
      defer { client.close() }
      let outcome = await client.outcome { completion in
        Push(
          token: TestPush.token, apnsID: TestPush.id(7),
          shared: SharedContent(
            message: Push.Message(
              payload: TestPush.payload, pushType: .voip, priority: 10, expiration: 1_900_000_000, collapseID: "score"),
            topic: "com.a.voip", environment: .sandbox), evidence: .none,
          completion: completion)
      }
      #expect(outcome.isAccepted)
      let push = try #require(try await apns.recent(1).first)
      #expect(push.apnsId == TestPush.id(7))
      #expect(push.token == TestPush.token)
      #expect(push.topic == "com.a.voip")
      #expect(push.pushType == "voip")
      #expect(push.priority == "10")
      #expect(push.expiration == "1900000000")
      #expect(push.collapseId == "score")
      #expect(push.payloadBytes == TestPush.payload.count)
    }

    @Test func `an absent expiration and collapse id are not sent`() async throws {
      let client = try apns.client()
      defer { client.close() }
      #expect(await client.outcomes(1...1).first?.isAccepted == true)
      let push = try #require(try await apns.recent(1).first)
      #expect(push.expiration == nil)
      #expect(push.collapseId == nil)
    }

    @Test func `a refusal is an answer with its reason and timestamp`() async throws {
      try await apns.device(TestPush.token, #""rule":"unregistered","since":1700000000000"#)
      let client = try apns.client()
      defer { client.close() }
      let expected = APNsAnswer(status: 410, reason: "Unregistered", timestamp: 1_700_000_000_000)
      #expect(await client.outcomes(1...3) == Array(repeating: .answered(expected), count: 3))
    }

    @Test func `an invalid push is refused without sending it and does not affect others`() async throws {
      let client = try apns.client()
      defer { client.close() }
      let bad = await client.outcome { TestPush.make(2, topic: "com.a\r\n:x", completion: $0) }
      #expect(bad == .answered(APNsAnswer(unsent: "BadTopic")))
      #expect(await client.outcomes(3...50).allSatisfy(\.isAccepted))
      #expect(try await apns.ledger().received == 48)
    }

    @Test func `the largest payload arrives`() async throws {
      let client = try apns.client()
      defer { client.close() }
      let text = String(repeating: "x", count: 4096 - 14)
      let outcome = await client.outcome { completion in
        TestPush.make(payload: Array(#"{"a":{"b":"\#(text)"}}"#.utf8.prefix(4096)), completion: completion)
      }
      guard case .answered(let answer) = outcome else { return #expect(Bool(false), "\(outcome)") }
      #expect(answer.reason != "PayloadTooLarge")
      #expect(try await apns.recent(1).first?.payloadBytes == 4096)
    }

    @Test func `the longest of every header field arrives`() async throws {
      let client = try apns.client()
      defer { client.close() }
      let outcome = await client.outcome {
        TestPush.make(
          token: String(repeating: "ab", count: 256), topic: String(repeating: "a", count: 256),
          pushType: .fileprovider,
          expiration: .max, collapseID: String(repeating: "c", count: 64), completion: $0)
      }
      // Only its topic is not that of a file provider.
      #expect(outcome == .answered(.init(status: 400, reason: "BadTopic")))
    }

    @Test func `a stream limit that changes during sending is respected`() async throws {
      let client = try apns.client()
      defer { client.close() }
      #expect(await client.outcomes(1...100).allSatisfy(\.isAccepted))
      try await apns.settings(#"{"maxStreams":2}"#)
      #expect(await client.outcomes(101...400).allSatisfy(\.isAccepted))
      try await apns.settings(#"{"maxStreams":500}"#)
      #expect(await client.outcomes(401...1500).allSatisfy(\.isAccepted))
      #expect(try await apns.ledger().duplicates == 0)
    }

    @Test func `after shutdown queued pushes end and written ones are still answered`() async throws {
      try await apns.settings(#"{"maxStreams":5,"rttMs":50}"#)
      let client = try apns.client()
      defer { client.close() }
      #expect(await client.outcomes(1...1).first?.isAccepted == true)
      async let outcomes = client.outcomes(2...40)
      try await client.turns(untilInFlight: 5)
      client.shutdown()
      let ended = await outcomes
      #expect(ended[..<5].allSatisfy { $0.isAccepted })
      #expect(ended[5...].allSatisfy { $0 == .notProcessed("ShuttingDown") })
      #expect(await client.outcomes(41...41) == [.notProcessed("ShuttingDown")])
    }

    @Test func `a completion may close the client`() async throws {
      var client: APNsClient? = try apns.client()
      var outcomes: [SendOutcome] = []
      await withCheckedContinuation { continuation in
        for number in 1...50 {
          client?.send(
            TestPush.make(number) { outcome in
              outcomes.append(outcome)
              client?.close()
              client = nil
              if outcomes.count == 50 { continuation.resume() }
            })
        }
      }
      #expect(outcomes[0].isAccepted)
      #expect(outcomes[1...].allSatisfy { $0 == .notProcessed("ShuttingDown") })
    }

    @Test func `closing with pushes in flight leaves them uncertain`() async throws {
      try await apns.fault(#"{"kind":"stall","processed":true,"after":1}"#)
      let client = try apns.client()
      #expect(await client.outcomes(1...1).first?.isAccepted == true)
      async let outcomes = client.outcomes(2...10)
      try await eventually("nine pushes arrived") { try await apns.ledger().received == 10 }
      client.close()
      #expect(await outcomes.allSatisfy(\.isUncertain))
    }
  }
}

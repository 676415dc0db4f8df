import EventLoop
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import APNs

extension SimulatorTests {
  @Suite @EventLoop
  struct ConfigurationFaultTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    @Test func `an expired provider token is renewed once for all and every push arrives`() async throws {
      try await apns.fault(#"{"kind":"status","status":403,"reason":"ExpiredProviderToken","after":1,"count":20}"#)
      let lines = Lines()
      let client = try apns.client(log: lines.log)
      defer { client.close() }
      #expect(await client.outcomes(1...50).allSatisfy(\.isAccepted))
      #expect(lines.count(containing: "provider token minted") == 2)
    }

    @Test func `a fresh token that is called expired is an answer and a hint at the clock`() async throws {
      try await apns.fault(#"{"kind":"status","status":403,"reason":"ExpiredProviderToken"}"#)
      let lines = Lines()
      let client = try apns.client(log: lines.log)
      defer { client.close() }
      let expected = PushOutcome.answered(APNsAnswer(status: 403, reason: "ExpiredProviderToken"))
      #expect(await client.outcomes(1...5) == Array(repeating: expected, count: 5))
      #expect(lines.count(containing: "provider token minted") == 2)
      #expect(lines.count(containing: "check the clock") == 1)
    }

    @Test func `a provider token that stays invalid parks the route`() async throws {
      try await apns.fault(#"{"kind":"status","status":403,"reason":"InvalidProviderToken"}"#)
      let client = try apns.client()
      defer { client.close() }
      let refused = PushOutcome.answered(APNsAnswer(status: 403, reason: "InvalidProviderToken"))
      #expect(await client.outcomes(1...1) == [refused])
      #expect(client.isParked(.production, topic: "com.example.demo") != nil)
      #expect(await client.outcomes(2...2) == [.notProcessed("RouteParked: InvalidProviderToken")])
      #expect(try await apns.ledger().received == 2)
    }

    @Test func `a topic that is not allowed parks its own route only`() async throws {
      try await apns.settings(#"{"topics":["com.good"]}"#)
      let client = try apns.client { $0.parkTime = .milliseconds(300) }
      defer { client.close() }
      #expect(
        await client.outcomes(1...1, topic: "com.bad") == [.answered(.init(status: 400, reason: "TopicDisallowed"))])
      #expect(await client.outcomes(2...2, topic: "com.bad") == [.notProcessed("RouteParked: TopicDisallowed")])
      #expect(await client.outcomes(3...20, topic: "com.good").allSatisfy(\.isAccepted))
      #expect(client.isParked(.production, topic: "com.good") == nil)
      try await apns.settings(#"{"topics":[]}"#)
      try await eventually("unparked") { client.isParked(.production, topic: "com.bad") == nil }
      #expect(await client.outcomes(21...30, topic: "com.bad").allSatisfy(\.isAccepted))
    }

    @Test func `tokens are no longer removed when every one of them looks bad`() async throws {
      try await apns.device(TestPush.token, #""rule":"bad""#)
      let client = try apns.client()
      defer { client.close() }
      var allowed = 0
      for number in 1...60 {
        let push = Box<Push>()
        let outcome = await client.outcome { completion in
          let made = TestPush.make(number, completion: completion)
          push.value = made
          return made
        }
        guard case .answered(let answer) = outcome, let sent = push.value else { continue }
        #expect(answer.reason == "BadDeviceToken")
        if client.removalAllowed(for: sent, after: answer) { allowed += 1 }
        let gone = APNsAnswer(status: 410, reason: "Unregistered", timestamp: 1)
        #expect(client.removalAllowed(for: sent, after: gone), "a token that APNs dates is dead")
      }
      #expect(allowed == RemovalGuard.minimumAnswers - 1)
      #expect(client.isParked(.production, topic: "com.example.demo") != nil)
    }

    @Test func `without a server pushes end at their deadline and the outage is one line`() async throws {
      let port = try freePort()
      var limits = APNsConfiguration.Limits()
      limits.requestTimeout = .milliseconds(400)
      limits.tick = .milliseconds(20)
      limits.minimumConnectBackoff = .milliseconds(5)
      limits.maximumConnectBackoff = .milliseconds(10)
      let configuration = try APNsConfiguration(
        keyID: "ABCDE12345", teamID: "TEAM567890", privateKeyPEM: TestKey.pem,
        endpointOverride: "https://127.0.0.1:\(port)", limits: limits)
      let lines = Lines()
      let client = APNsClient(configuration: configuration, metrics: Metrics(), log: lines.log)
      defer { client.close() }
      for outcome in await client.outcomes(1...10) {
        guard case .notProcessed(let why) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(why.hasPrefix("NoConnection: "))
      }
      #expect(!client.isConnected)
      #expect(lines.count(containing: "APNs connection lost") == 1)
    }

    @Test func `a certificate of an unknown authority is not trusted`() async throws {
      var limits = APNsConfiguration.Limits()
      limits.requestTimeout = .milliseconds(500)
      limits.tick = .milliseconds(20)
      let configuration = try APNsConfiguration(
        keyID: "ABCDE12345", teamID: "TEAM567890", privateKeyPEM: TestKey.pem, endpointOverride: apns.ready.url,
        limits: limits)
      let client = APNsClient(configuration: configuration, metrics: Metrics(), log: .silent)
      defer { client.close() }
      #expect(await client.outcomes(1...2).allSatisfy(\.isNotProcessed))
      #expect(try await apns.ledger().received == 0)
    }
  }
}

/// What a log wrote.
private final class Lines: Sendable {
  private let lines = Mutex<[String]>([])

  var log: Log {
    Log(level: .debug, isText: false) { line in self.lines.withLock { $0.append(line) } }
  }

  func count(containing text: String) -> Int {
    lines.withLock { $0.count { $0.contains(text) } }
  }
}

@EventLoop
private final class Box<Value> {
  var value: Value?
}

import EventLoop
import TestSupport
import Testing

@testable import APNs
@testable import PushModel

struct GatewayPauseTests {
  private static let second: UInt64 = 1_000_000_000

  private var pause = GatewayPause(backoff: Backoff(base: .seconds(1), cap: .seconds(60)))

  private mutating func fail(_ count: Int, now: UInt64 = 0, retryAfter: Duration? = nil) -> [GatewayPause.Change] {
    (0..<count).compactMap { _ in
      pause.recordError(reason: "ServiceUnavailable", retryAfter: retryAfter, now: now, random: 1)
    }
  }

  @Test mutating func `errors between other answers pause nothing`() {
    for _ in 0..<100 {
      let changes = fail(19)
      #expect(changes == [])
      let change = pause.recordSuccess()
      #expect(change == nil)
    }
    #expect(pause.limit == nil)
  }

  @Test mutating func `the twentieth error in a row pauses, and later answers of the same burst change nothing`() {
    let changes = fail(500)
    #expect(changes == [.paused])
    #expect(pause.isPaused)
    #expect(pause.limit == 0)
    let tooEarly = pause.probeIfDue(now: Self.second - 1)
    #expect(!tooEarly)
    let isDue = pause.probeIfDue(now: Self.second)
    #expect(isDue)
    #expect(pause.limit == 1)
  }

  @Test mutating func `failed probes wait twice as long each time, up to a minute`() {
    _ = fail(20)
    var now = Self.second
    for seconds in [2, 4, 8, 16, 32, 60, 60] as [UInt64] {
      let isDue = pause.probeIfDue(now: now)
      #expect(isDue)
      let changes = fail(1, now: now)
      #expect(changes == [])
      let tooEarly = pause.probeIfDue(now: now + seconds * Self.second - 1)
      #expect(!tooEarly)
      now += seconds * Self.second
    }
    #expect(pause.since == 0)
  }

  @Test mutating func `one other answer resumes it and forgets the failures`() {
    _ = fail(20)
    let isDue = pause.probeIfDue(now: Self.second)
    #expect(isDue)
    let change = pause.recordSuccess()
    #expect(change == .resumed)
    #expect(pause.limit == nil)
    #expect(pause.since == nil)
    let changes = fail(20, now: 100 * Self.second)
    #expect(changes == [.paused])
    let isDueSoon = pause.probeIfDue(now: 101 * Self.second)
    #expect(isDueSoon)
  }

  @Test(arguments: [
    (503, "Shutdown"), (403, "ExpiredProviderToken"), (404, "BadPath"), (429, "TooManyProviderTokenUpdates"),
  ])
  mutating func `an answer that concerns the connection or the provider proves nothing`(status: Int, reason: String) {
    _ = fail(20)
    _ = pause.probeIfDue(now: Self.second)
    let change = pause.record(APNsAnswer(status: status, reason: reason), now: Self.second, random: 1)
    #expect(change == nil)
    #expect(pause.limit == 1)
    let resumed = pause.record(APNsAnswer(status: 410, reason: "Unregistered"), now: Self.second, random: 1)
    #expect(resumed == .resumed)
  }

  @Test mutating func `Retry-After is obeyed, within reason`() {
    _ = fail(20, retryAfter: .seconds(30))
    let tooEarly = pause.probeIfDue(now: 30 * Self.second - 1)
    #expect(!tooEarly)
    let isDue = pause.probeIfDue(now: 30 * Self.second)
    #expect(isDue)
    _ = fail(1, retryAfter: .seconds(86_400))
    let isDueAtLast = pause.probeIfDue(now: 300 * Self.second)
    #expect(isDueAtLast)
  }
}

extension SimulatorTests {
  /// A gateway that answers everything with 503.
  @Suite @EventLoop
  struct PausedGatewayTests {
    let apns: SimulatedGateway

    init() async throws {
      apns = try await SimulatedGateway.shared.value
      try await apns.reset()
    }

    @Test func `it gets single probes only, and all pushes again as soon as it takes one`() async throws {
      try await apns.fault(#"{"kind":"status","status":503,"reason":"ServiceUnavailable"}"#)
      let lines = LogLines()
      let client = try apns.client(
        {
          $0.minimumConnectBackoff = .seconds(1)
          $0.maximumConnectBackoff = .seconds(1)
        }, log: lines.log)
      defer { client.close() }
      let first = await client.outcomes(1...100)
      #expect(first.contains(.answered(APNsAnswer(status: 503, reason: "ServiceUnavailable"))))
      #expect(!client.isConnected, "no jobs are claimed")
      #expect(client.outage(of: .production) > .zero)
      let waiting = await client.outcomes(101...110)
      #expect(waiting.allSatisfy { $0.isNotProcessed || $0 == first[0] })
      try await eventually("a probe may be sent") { client.isConnected }
      let before = try await apns.ledger().received
      let probed = await client.outcomes(111...160)
      // One push was the probe; the others waited for its answer.
      let probes = try await apns.ledger().received - before
      #expect(probes == probed.count { !$0.isNotProcessed })
      #expect((1...3).contains(probes))
      try await apns.clearFaults()
      try await eventually("resumed") {
        await client.outcome { TestPush.make(999, completion: $0) }.isAccepted
      }
      #expect(await client.outcomes(200...300).allSatisfy(\.isAccepted))
      #expect(client.outage(of: .production) == .zero)
      #expect(lines.count(containing: "APNs answers every push with an error") == 1)
      #expect(lines.count(containing: "APNs takes pushes again") == 1)
    }
  }
}

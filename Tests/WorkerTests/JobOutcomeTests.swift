import Jobs
import Testing

@testable import Worker
@testable import Queue

struct JobOutcomeTests {
  private let schedule = RetrySchedule(maximumAttempts: 3)

  private func conclude(
    attempts: Int = 1, expiration: Int64? = nil, cutShort: Bool = false, atMostOnce: Bool = false,
    _ fill: (inout Tally) -> Void
  )
    -> JobOutcome
  {
    var tally = Tally(
      result: JobResult(id: "j", status: .retrying, worker: "w", claimedAt: 0), isAtMostOnce: atMostOnce)
    fill(&tally)
    let attempt = JobOutcome.Attempt(
      tally: tally, isCutShort: cutShort, attempts: attempts, expiration: expiration, now: 1_000_000)
    return JobOutcome(attempt, schedule: schedule, random: 0.5)
  }

  private func record(_ tally: inout Tally, _ disposition: PushOutcome, reason: String? = nil) {
    tally.record(disposition, token: "t\(tally.result.accepted)", status: 200, apnsID: "", reason: reason)
  }

  @Test func `all accepted is accepted`() {
    #expect(conclude { record(&$0, .accepted) } == JobOutcome(status: .accepted, verb: .done))
  }

  @Test func `some accepted and one stale is partial`() {
    let conclusion = conclude {
      record(&$0, .accepted)
      record(&$0, .stale(unregisteredSince: nil), reason: "Unregistered")
    }
    #expect(conclusion == JobOutcome(status: .partial, verb: .done))
  }

  @Test func `no device at all is said`() {
    #expect(conclude { _ in } == JobOutcome(status: .noDevices, verb: .done))
  }

  @Test func `an open device is retried and counts as an attempt`() {
    let conclusion = conclude { record(&$0, .open(after: .zero, isFault: false), reason: "ServiceUnavailable") }
    #expect(conclusion == JobOutcome(status: .retrying, verb: .retry(delay: .milliseconds(500), countsAttempt: true)))
  }

  @Test func `a fault of the gateway uses up no attempt, however often`() {
    let conclusion = conclude(attempts: 30) {
      record(&$0, .open(after: .seconds(5), isFault: true), reason: "no connection")
    }
    #expect(conclusion.status == .retrying)
    guard case .retry(_, countsAttempt: false) = conclusion.verb else {
      Issue.record("counted as an attempt: \(conclusion.verb)")
      return
    }
  }

  @Test func `the last attempt buries the job with the last reason`() {
    let conclusion = conclude(attempts: 3) {
      record(&$0, .open(after: .zero, isFault: false), reason: "TooManyRequests")
    }
    #expect(
      conclusion
        == JobOutcome(status: .dead, verb: .bury(reason: "gave up after 3 attempts; last reason: TooManyRequests")))
  }

  @Test func `nothing is retried past its expiration`() {
    let conclusion = conclude(expiration: 1_000_100) {
      record(&$0, .open(after: .zero, isFault: false), reason: "ServiceUnavailable")
    }
    #expect(conclusion.status == .dead)
    #expect(
      conclusion.verb == .bury(reason: "expired before it could be retried; last reason: ServiceUnavailable"))
  }

  @Test func `an uncertain push is retried and counts as an attempt`() {
    let conclusion = conclude {
      record(&$0, .accepted)
      record(&$0, .uncertain, reason: "connection lost")
      #expect($0.open == ["t1"])
      #expect($0.uncertain == [])
      #expect($0.result.uncertain == 1)
    }
    #expect(conclusion == JobOutcome(status: .retrying, verb: .retry(delay: .milliseconds(500), countsAttempt: true)))
  }

  @Test func `a push that stays uncertain is buried after the last attempt`() {
    let conclusion = conclude(attempts: 3) { record(&$0, .uncertain, reason: "Uncertain: Timeout") }
    #expect(
      conclusion
        == JobOutcome(status: .dead, verb: .bury(reason: "gave up after 3 attempts; last reason: Uncertain: Timeout")))
  }

  @Test func `at most once, an uncertain push is never retried by itself`() {
    let conclusion = conclude(atMostOnce: true) {
      record(&$0, .accepted)
      record(&$0, .uncertain, reason: "connection lost")
    }
    #expect(conclusion == JobOutcome(status: .partial, verb: .bury(reason: JobOutcome.uncertain)))
  }

  @Test func `a wrong job is buried even if devices are open`() {
    let conclusion = conclude {
      record(&$0, .open(after: .zero, isFault: false), reason: "ServiceUnavailable")
      record(&$0, .badJob, reason: "BadTopic")
    }
    #expect(conclusion == JobOutcome(status: .dead, verb: .bury(reason: "BadTopic")))
  }

  @Test func `an attempt cut short goes on later`() {
    #expect(conclude(cutShort: true) { _ in }.status == .retrying)
  }
}

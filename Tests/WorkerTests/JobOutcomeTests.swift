import Jobs
import TestSupport
import Testing

@testable import Worker
@testable import Queue

struct JobOutcomeTests {
  private let schedule = RetrySchedule(maximumAttempts: 3)

  private func outcome(
    attempts: Int = 1, expiration: Int64? = nil, cutShort: Bool = false, atMostOnce: Bool = false,
    _ fill: (inout Tally) -> Void
  )
    -> JobOutcome
  {
    var tally = Tally(
      result: JobResult(id: "j", status: .retrying, worker: "w", claimedAt: 0), isAtMostOnce: atMostOnce)
    fill(&tally)
    let attempt = JobOutcome.Attempt(
      tally: tally, extent: cutShort ? .cutShort : .complete, attempts: attempts, expiration: expiration, now: 1_000_000
    )
    return JobOutcome(attempt, schedule: schedule, random: 0.5)
  }

  private func record(_ tally: inout Tally, _ outcome: PushOutcome, reason: String? = nil) {
    tally.record(EndedPush(token: "t\(tally.result.accepted)", outcome: outcome, status: 200, reason: reason))
  }

  @Test func `all accepted is accepted`() {
    #expect(outcome { record(&$0, .accepted) } == JobOutcome(status: .accepted, exit: .acknowledge))
  }

  @Test func `some accepted and one stale is partial`() {
    let outcome = outcome {
      record(&$0, .accepted)
      record(&$0, .stale(unregisteredSince: nil), reason: "Unregistered")
    }
    #expect(outcome == JobOutcome(status: .partial, exit: .acknowledge))
  }

  @Test func `a job without devices has a status of its own`() {
    #expect(outcome { _ in } == JobOutcome(status: .noDevices, exit: .acknowledge))
  }

  @Test func `an open device is retried and counts as an attempt`() {
    let outcome = outcome { record(&$0, .open(after: .zero, isFault: false), reason: "ServiceUnavailable") }
    #expect(
      outcome
        == JobOutcome(
          status: .retrying, exit: .retry(delay: .milliseconds(500), countsAttempt: true, reason: "ServiceUnavailable"))
    )
  }

  @Test func `a fault of the gateway uses up no attempt, however often`() {
    let outcome = outcome(attempts: 30) {
      record(&$0, .open(after: .seconds(5), isFault: true), reason: "no connection")
    }
    #expect(outcome.status == .retrying)
    guard case .retry(_, countsAttempt: false, _) = outcome.exit else {
      Issue.record("counted as an attempt: \(outcome.exit)")
      return
    }
  }

  @Test func `the last attempt buries the job with the last reason`() {
    let outcome = outcome(attempts: 3) {
      record(&$0, .open(after: .zero, isFault: false), reason: "TooManyRequests")
    }
    #expect(
      outcome
        == JobOutcome(status: .dead, exit: .bury(reason: "gave up after 3 attempts; last reason: TooManyRequests")))
  }

  @Test func `nothing is retried past its expiration`() {
    let outcome = outcome(expiration: 1_000_100) {
      record(&$0, .open(after: .zero, isFault: false), reason: "ServiceUnavailable")
    }
    #expect(outcome.status == .dead)
    #expect(
      outcome.exit == .bury(reason: "expired before it could be retried; last reason: ServiceUnavailable"))
  }

  @Test func `an uncertain push is retried and counts as an attempt`() {
    let outcome = outcome {
      record(&$0, .accepted)
      record(&$0, .uncertain, reason: "connection lost")
      #expect($0.open == ["t1"])
      #expect($0.uncertain == [])
      #expect($0.result.uncertain == 1)
    }
    #expect(
      outcome
        == JobOutcome(
          status: .retrying, exit: .retry(delay: .milliseconds(500), countsAttempt: true, reason: "connection lost")))
  }

  @Test func `a push that stays uncertain is buried after the last attempt`() {
    let outcome = outcome(attempts: 3) { record(&$0, .uncertain, reason: "Uncertain: Timeout") }
    #expect(
      outcome
        == JobOutcome(status: .dead, exit: .bury(reason: "gave up after 3 attempts; last reason: Uncertain: Timeout")))
  }

  @Test func `at most once, a job with an uncertain push is buried`() {
    let outcome = outcome(atMostOnce: true) {
      record(&$0, .accepted)
      record(&$0, .uncertain, reason: "connection lost")
    }
    #expect(outcome == JobOutcome(status: .partial, exit: .bury(reason: JobOutcome.uncertain)))
  }

  @Test func `an invalid job is buried even if devices are open`() {
    let outcome = outcome {
      record(&$0, .open(after: .zero, isFault: false), reason: "ServiceUnavailable")
      record(&$0, .badJob, reason: "BadTopic")
    }
    #expect(outcome == JobOutcome(status: .dead, exit: .bury(reason: "BadTopic")))
  }

  @Test func `an attempt that was cut short is retried`() {
    #expect(outcome(cutShort: true) { _ in }.status == .retrying)
  }

  @Test func `a retry waits at least as long as the gateway asked`() {
    let outcome = outcome { record(&$0, .open(after: .seconds(40), isFault: false), reason: "TooManyRequests") }
    #expect(outcome.exit == .retry(delay: .seconds(40), countsAttempt: true, reason: "TooManyRequests"))
  }

  @Test func `a fault is not retried past the expiration either`() {
    let outcome = outcome(expiration: 1_000_100) {
      record(&$0, .open(after: .seconds(5), isFault: true), reason: "no connection")
    }
    #expect(outcome.exit == .bury(reason: "expired before it could be retried; last reason: no connection"))
  }

  @Test func `at most once, devices left open are retried before uncertain ones are given up`() {
    let outcome = outcome(atMostOnce: true) {
      record(&$0, .uncertain, reason: "connection lost")
      record(&$0, .open(after: .zero, isFault: false), reason: "ServiceUnavailable")
    }
    #expect(outcome.status == .retrying)
  }
}

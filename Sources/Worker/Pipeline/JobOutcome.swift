import Queue
import Policy
import Jobs

/// How an attempt at a job ends: a pure decision from what its pushes came to.
struct JobOutcome: Equatable {
  enum Verb: Equatable {
    case done
    case retry(delay: Duration, countsAttempt: Bool)
    case bury(reason: String)
    /// Ended by a delivery policy.
    case suppress(SuppressionReason)
    /// Held by a delivery policy; unix ms.
    case deferUntil(Int64)
  }

  /// What is known when an attempt is over.
  struct Attempt {
    var tally: Tally
    /// Not everything was tried.
    var isCutShort = false
    /// Attempts made, this one included.
    var attempts = 1
    /// Unix ms.
    var expiration: Int64?
    var now: Int64
  }

  static let uncertain = "Uncertain: APNs may have delivered it, no answer arrived"
  static let crashed = "Uncertain: a worker died with the job in hand, APNs may have delivered it"

  var status: JobStatus
  var verb: Verb

  init(status: JobStatus, verb: Verb) {
    self.status = status
    self.verb = verb
  }

  /// `random` from 0..<1 draws the delay, if there is one: drawing asks the kernel.
  init(_ attempt: Attempt, schedule: RetrySchedule, random: @autoclosure () -> Double) {
    let tally = attempt.tally
    if let reason = tally.badJobReason {
      self.init(status: .dead, verb: .bury(reason: reason))
    } else if attempt.isCutShort || !tally.open.isEmpty {
      self = JobOutcome.open(attempt, schedule: schedule, random: random())
    } else if !tally.uncertain.isEmpty {
      self.init(buryingUncertain: tally, because: JobOutcome.uncertain)
    } else {
      self.init(status: tally.result.settledStatus, verb: .done)
    }
  }

  /// Of a job at most once: what may have arrived is an operator's to send again.
  init(buryingUncertain tally: Tally, because reason: String) {
    self.init(status: tally.result.accepted > 0 ? .partial : .dead, verb: .bury(reason: reason))
  }

  private static func open(_ attempt: Attempt, schedule: RetrySchedule, random: Double) -> JobOutcome {
    let tally = attempt.tally
    // A fault that is not the job's uses up none of its attempts; its expiration still counts.
    let isFault = tally.isFault
    let patience = isFault ? RetrySchedule(maximumAttempts: .max) : schedule
    let delay = patience.delay(
      afterAttempt: attempt.attempts, now: attempt.now, expiration: attempt.expiration, atLeast: tally.wait,
      random: random)
    if let delay { return JobOutcome(status: .retrying, verb: .retry(delay: delay, countsAttempt: !isFault)) }
    let isExhausted = attempt.attempts >= patience.maximumAttempts
    let why = isExhausted ? "gave up after \(attempt.attempts) attempts" : "expired before it could be retried"
    let last = tally.openReason ?? "no answer"
    return JobOutcome(status: .dead, verb: .bury(reason: "\(why); last reason: \(last)"))
  }
}

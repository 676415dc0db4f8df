import Jobs
import Queue

/// What happens next to a job.
enum NextStep {
  /// How long it takes at most until the jobs of a dead worker run again, in ms.
  private static let takeover: Int64 = 20_000

  static func of(_ facts: JobFacts, _ state: JobExplanation.State) -> ExplainedStep? {
    if facts.isStopped(state) { return ExplainedStep(at: nil, .control, "Nothing, until the queue is resumed.") }
    return switch state {
    case .unknown, .ended: nil
    case .waiting: waiting(facts)
    case .inFlight: inFlight(facts)
    case .retrying: retry(facts)
    case .scheduled: due(facts).map { ExplainedStep(at: $0, .scheduled, "A worker claims and sends it.") }
    case .deferred where facts.waitsForToken: token(facts)
    case .deferred: ExplainedStep(at: due(facts), .policy, "The delivery policy decides again whether it is sent.")
    case .paused: ExplainedStep(at: nil, .control, "Nothing, until an operator resumes it.")
    case .dead:
      ExplainedStep(at: nil, .dead, "Nothing: it stays in the dead letters until it is requeued or purged.")
    }
  }

  private static func waiting(_ facts: JobFacts) -> ExplainedStep {
    guard !facts.workers.isEmpty else { return ExplainedStep(at: nil, .waiting, "Nothing, until a worker runs.") }
    guard case .waiting(let ahead, _) = facts.location.place, ahead > 0 else {
      return ExplainedStep(at: nil, .waiting, "The next worker with a free permit claims it.")
    }
    let rate = facts.workers.values.jobsPerSecond
    // Idle workers have no rate to measure.
    guard rate >= 1 else {
      return ExplainedStep(at: nil, .waiting, "A worker claims it after the jobs in front of it.")
    }
    let seconds = min(Double(ahead) / rate, 1e9)
    let wait = Int64(seconds * 1000)
    return ExplainedStep(
      at: facts.now + wait, .waiting,
      "A worker claims it in about \(TimeText.duration(max(1000, wait))), at the present \(Int(rate)) jobs per second.")
  }

  private static func token(_ facts: JobFacts) -> ExplainedStep {
    let latest = facts.expiresAt.map { ", until \(facts.text.clock($0)) at the latest" } ?? ""
    return ExplainedStep(
      at: due(facts), .waiting, "It looks for an update token; the registration of one makes it look at once\(latest).")
  }

  private static func inFlight(_ facts: JobFacts) -> ExplainedStep {
    guard case .inFlight(let worker) = facts.location.place, !facts.isAlive(worker) else {
      return ExplainedStep(at: nil, .claimed, "The worker ends the attempt and writes the record.")
    }
    return ExplainedStep(at: facts.now + takeover, .crash, "Another worker takes it over, within 20 s.")
  }

  private static func retry(_ facts: JobFacts) -> ExplainedStep {
    let isCounted = if case .postponed? = facts.history.entries.last?.event { false } else { true }
    let attempts = facts.record?.attempts ?? facts.location.envelope?.attempts ?? 0
    let what = isCounted ? "Attempt \(attempts + 1) begins." : "It is tried again, as attempt \(max(1, attempts))."
    return ExplainedStep(at: due(facts), .retry, what)
  }

  /// When the job is due, by its place, or by the plan of its last attempt.
  private static func due(_ facts: JobFacts) -> Int64? {
    switch facts.location.place {
    case .retry(let due), .scheduled(let due): return due
    case .waiting, .inFlight, .paused, .dead, .ended, .unknown: break
    }
    switch facts.history.entries.last?.event {
    case .retry(let due, _), .postponed(let due, _, _), .deferred(let due): return due
    default: return nil
    }
  }
}

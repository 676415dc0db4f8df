import Jobs
import Queue

extension JobExplanation {
  /// Explains a job from what is known of it. A pure function.
  public init(_ facts: JobFacts) {
    let state = State(facts)
    self.init(
      id: facts.id, state: state, status: facts.record?.status.rawValue, outcome: OutcomeSentence.of(facts, state),
      steps: JobExplanation.steps(facts), next: NextStep.of(facts, state), advice: JobAdvice.of(facts, state))
  }

  private static func steps(_ facts: JobFacts) -> [ExplainedStep] {
    let history = facts.history
    var steps = beginning(facts, history)
    if history.isEmpty, let record = facts.record {
      steps.append(ExplainedStep(at: record.claimedAt, .claimed, "Worker \(record.worker) took it."))
      steps.append(ExplainedStep(at: record.finishedAt, .answer, StatusSentences.outcome(record)))
    } else {
      steps += HistorySentences.steps(of: history, facts.text)
    }
    return steps
  }

  /// What was before the first claim.
  private static func beginning(_ facts: JobFacts, _ history: JobHistory) -> [ExplainedStep] {
    let job = facts.job
    var steps: [ExplainedStep] = []
    if let at = job?.enqueuedAt { steps.append(ExplainedStep(at: at, .enqueued, "Its producer enqueued it.")) }
    if let at = job?.sendAt {
      let sentence = "It is not to be sent before \(facts.text.clock(at))."
      steps.append(ExplainedStep(at: job?.enqueuedAt, .scheduled, sentence))
    }
    return steps
  }
}

extension JobExplanation.State {
  init(_ facts: JobFacts) {
    let isHeld = facts.record?.status == .deferred
    switch facts.place {
    case .waiting: self = .waiting
    case .inFlight: self = .inFlight
    case .retry: self = .retrying
    case .scheduled: self = isHeld ? .deferred : .scheduled
    case .dead: self = .dead
    case .nowhere:
      switch facts.record?.status {
      case nil: self = .unknown
      case .retrying: self = .retrying
      case .deferred: self = .deferred
      case .dead: self = .dead
      default: self = .ended
      }
    }
  }
}

/// What became of a job so far.
enum OutcomeSentence {
  static func of(_ facts: JobFacts, _ state: JobExplanation.State) -> String {
    if state == .retrying || state == .deferred || state == .dead || state == .ended, let record = facts.record {
      return StatusSentences.outcome(record)
    }
    switch facts.place {
    case .waiting(let queue, let ahead): return waiting(facts, queue, ahead)
    case .inFlight(_, let worker, true): return "Worker \(worker) has it in hand."
    case .inFlight(_, let worker, false): return "Worker \(worker) had it in hand when it died."
    case .retry: return "It was not delivered yet and is tried again."
    case .scheduled(_, let due): return "It was not sent yet: it is scheduled for \(facts.text.clock(due))."
    case .dead: return "It was given up and is in the dead letters: \(facts.letter?.reason ?? "no reason given")."
    case .nowhere:
      return "Nothing is known of it: no worker has taken a job with this id, or its record has expired or was not "
        + "kept."
    }
  }

  private static func waiting(_ facts: JobFacts, _ queue: String, _ ahead: Int64?) -> String {
    let place =
      switch ahead {
      case 0?: "It is the next job of \(queue)"
      case 1?: "It waits in \(queue) behind 1 job"
      case let ahead?: "It waits in \(queue) behind \(ahead) jobs"
      case nil: "It waits in \(queue)"
      }
    return facts.isQueuePaused ? "\(place), which is paused." : "\(place)."
  }
}

public import JSON
import Jobs
import Queue

/// What happened to a job, what happens next, and what to do.
public struct JobExplanation: Sendable, Equatable {
  /// Where a job is on its path.
  public enum State: String, Sendable, CaseIterable {
    /// There is no trace of the job.
    case unknown
    /// In a queue's list.
    case waiting
    case inFlight = "in_flight"
    case retrying
    /// Waits for its `sendAt`.
    case scheduled
    /// Held by a delivery policy.
    case deferred
    /// A broadcast that an operator has paused.
    case paused
    /// In the dead letters.
    case dead
    case ended
  }

  public var id: String
  public var state: State
  /// The `status` of the record; nil without a record.
  public var status: String?
  /// What became of the job so far, in one sentence.
  public var outcome: String
  /// In order of time.
  public var steps: [ExplainedStep]
  /// What happens next; nil if the job has ended.
  public var next: ExplainedStep?
  /// What an operator or a producer should do; nil if nothing needs to be done.
  public var advice: String?

  /// Whether anything is known of the job.
  public var isKnown: Bool { state != .unknown }

  /// `{"id","state","status"?,"outcome","steps":[{"at"?,"kind","sentence"}…],"next"?,"advice"?}`, times in unix ms.
  public var object: JSONObject {
    [
      "id": id, "state": state.rawValue, "status": status, "outcome": outcome, "steps": steps.map(\.object),
      "next": next?.object, "advice": advice,
    ]
  }
}

extension JobExplanation {
  /// Explains a job from what is known of it. A pure function.
  init(_ facts: JobFacts) {
    let state = State(facts)
    self.init(
      id: facts.id, state: state, status: facts.record?.status.rawValue, outcome: OutcomeSentence.of(facts, state),
      steps: JobExplanation.steps(facts), next: NextStep.of(facts, state), advice: JobAdvice.of(facts, state))
  }

  private static func steps(_ facts: JobFacts) -> [ExplainedStep] {
    let history = facts.history
    var steps = beginning(facts, history)
    if history.isEmpty, let record = facts.record {
      steps.append(ExplainedStep(at: record.claimedAt, .claimed, "Worker \(record.worker) claimed it."))
      steps.append(ExplainedStep(at: record.finishedAt, .answer, StatusSentences.outcome(record)))
    } else {
      steps += HistorySentences.steps(of: history, facts.text)
    }
    for sentence in facts.record.map(StatusSentences.uniqueIDs) ?? [] {
      steps.append(ExplainedStep(at: facts.record?.finishedAt, .note, sentence))
    }
    if let pause = facts.pause {
      let place = steps.firstIndex { ($0.at ?? 0) > pause.since } ?? steps.endIndex
      steps.insert(JobExplanation.step(pause, facts.location.queue ?? "its queue"), at: place)
    }
    return steps
  }

  private static func step(_ pause: QueuePause, _ queue: String) -> ExplainedStep {
    let by = pause.by.isEmpty ? "An operator" : "Operator \(pause.by)"
    let reason = pause.reason.isEmpty ? "" : ": \(pause.reason)"
    return ExplainedStep(at: pause.since, .control, "\(by) paused \(queue)\(reason).")
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
    if let hint = job?.liveActivity?.hint {
      steps.append(ExplainedStep(at: job?.enqueuedAt, .note, "liveActivity.\(hint)"))
    }
    return steps
  }
}

extension JobExplanation.State {
  init(_ facts: JobFacts) {
    switch facts.location.place {
    case .waiting: self = .waiting
    case .inFlight: self = .inFlight
    case .retry: self = .retrying
    case .scheduled: self = facts.record?.status == .deferred ? .deferred : .scheduled
    case .paused: self = .paused
    case .dead: self = .dead
    case .ended(.dead): self = .dead
    case .ended: self = .ended
    case .unknown:
      // Found by its record alone: it is just being moved, or another fleet has it.
      switch facts.record?.status {
      case .retrying?: self = .retrying
      case .deferred?: self = .deferred
      default: self = .unknown
      }
    }
  }
}

/// What became of a job so far.
enum OutcomeSentence {
  static func of(_ facts: JobFacts, _ state: JobExplanation.State) -> String {
    switch facts.location.place {
    case .waiting(let place, _): return waiting(facts, place)
    case .inFlight(let worker):
      return facts.isAlive(worker)
        ? "It is in flight at worker \(worker)." : "It was in flight at worker \(worker), which died."
    case .paused: return "An operator has paused it."
    case .scheduled(let due) where state == .scheduled:
      return "It was not sent yet: it is scheduled for \(facts.text.clock(due))."
    case .dead(_, let reason): return "It was given up and is in the dead letters: \(reason)."
    case .retry, .scheduled, .ended, .unknown: break
    }
    if facts.location.place == .unknown(isWaitingPossible: true), state == .unknown {
      return "It was not found. A queue is too long to be searched whole: it may wait there."
    }
    if state == .unknown {
      return "Nothing is known of it: no worker has claimed a job with this id, or its record has expired or was not "
        + "kept."
    }
    if let record = facts.record { return StatusSentences.outcomeAndReading(record) }
    if case .ended(let status) = facts.location.place { return "It has ended: \(status.rawValue)." }
    return "It was not delivered yet and is tried again."
  }

  private static func waiting(_ facts: JobFacts, _ ahead: Int) -> String {
    let queue = facts.location.queue ?? "its queue"
    let place =
      switch ahead {
      case 0: "It is the next job of \(queue)"
      case 1: "It waits in \(queue) behind 1 job"
      default: "It waits in \(queue) behind \(ahead) jobs"
      }
    return facts.pause == nil ? "\(place)." : "\(place), and the queue is paused."
  }
}

import Policy
import Queue
import EventLoop
import Jobs

/// Writes down how jobs end: the record, the reply, the dead letter, the notification record.
@EventLoop
struct OutcomeBook {
  let schedule: RetrySchedule
  private let results: WorkerConfiguration.ResultPolicy
  private let timeToLive: Duration
  let notifications: WorkerConfiguration.NotificationPolicy

  init(_ configuration: WorkerConfiguration) {
    schedule = RetrySchedule(maximumAttempts: configuration.maximumAttempts)
    results = configuration.results
    timeToLive = configuration.resultTimeToLive
    notifications = configuration.notifications
  }

  func settlement(of delivery: Delivery, _ conclusion: JobOutcome) -> Settlement {
    let now = Clock.unixMilliseconds
    delivery.tally.result.status = conclusion.status
    delivery.tally.result.reason = reason(of: delivery, conclusion)
    delivery.tally.result.finishedAt = now
    let json = delivery.tally.result.json()
    var record = record(
      json, id: delivery.id, conclusion.status, isFirst: delivery.state.result == nil)
    record?.author = delivery.state.recordAuthor
    // Before the element of the next attempt is made, which remembers it.
    if record != nil, conclusion.verb != .done { delivery.state.recordAuthor = delivery.tally.result.author }
    var settlement = Settlement(verb(of: delivery, conclusion, at: now))
    settlement.record = record
    // The list gets the end of the job, not every attempt.
    settlement.replyTo = conclusion.status.isFinal ? delivery.job.replyTo : nil
    if settlement.replyTo != nil, settlement.record == nil {
      settlement.record = Settlement.Record(jobID: delivery.id, json: json, timeToLive: timeToLive)
    }
    settlement.notifications = notifications(of: delivery, conclusion.status, at: now)
    return settlement
  }

  /// For an element that is no job: there is nothing but its bytes.
  func refusal(of claim: Claim, reason: String, worker: String) -> Settlement {
    let now = Clock.unixMilliseconds
    let id = Job.salvagedID(from: claim.envelope.job) ?? JobID.derived(nonce: claim.envelope.nonce ?? "")
    let result = JobResult(
      id: id, status: .dead, reason: reason, attempts: claim.envelope.attempts + 1, worker: worker,
      claimedAt: claim.claimedAt, finishedAt: now)
    let letter = DeadLetter(id: id, reason: reason, at: now, attempts: result.attempts, envelope: claim.envelope)
    return Settlement(.bury(letter: letter.bytes), record: record(result.json(), id: id, .dead, isFirst: true))
  }

  /// Of a job that Redis refused for its size; nil when nothing tells its id.
  func record(of job: OversizedJob, worker: String) -> Settlement.Record? {
    guard let id = job.id else { return nil }
    let now = Clock.unixMilliseconds
    let result = JobResult(
      id: id, status: .dead, reason: Job.tooLarge, worker: worker, claimedAt: now, finishedAt: now)
    return record(result.json(), id: id, .dead, isFirst: true)
  }

  private func reason(of delivery: Delivery, _ conclusion: JobOutcome) -> String? {
    switch conclusion.verb {
    case .done: nil
    case .retry: delivery.tally.openReason
    case .bury(let reason): reason
    case .suppress(let reason): reason.rawValue
    case .deferUntil: SuppressionReason.quietHours.rawValue
    }
  }

  private func verb(of delivery: Delivery, _ conclusion: JobOutcome, at now: Int64) -> Settlement.Verb {
    switch conclusion.verb {
    case .done, .suppress: return .acknowledge
    case .deferUntil(let time): return .schedule(element: delivery.scheduledElement, at: time)
    case .retry(let delay, let countsAttempt):
      return .retry(element: delivery.nextElement(countsAttempt: countsAttempt), delay: delay)
    case .bury(let reason):
      let letter = DeadLetter(
        id: delivery.id, reason: reason, at: now, attempts: delivery.tally.result.attempts,
        envelope: delivery.buriedEnvelope)
      return .bury(letter: letter.bytes)
    }
  }

  /// `isFirst`: no earlier attempt has left a record.
  private func record(_ json: [UInt8], id: String, _ status: JobStatus, isFirst: Bool) -> Settlement.Record? {
    switch results {
    case .none: return nil
    case .failures: if status == .deferred || (status == .accepted && isFirst) { return nil }
    case .all: break
    }
    // A duplicate with the id of the job it repeats must not wipe out that job's record.
    return Settlement.Record(jobID: id, json: json, timeToLive: timeToLive, onlyIfAbsent: status == .duplicate)
  }
}

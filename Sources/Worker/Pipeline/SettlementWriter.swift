import EventLoop
import Jobs
import Queue
import Redis

/// Makes the settlement of an outcome: the record, the reply, the dead letter, the notification records.
@EventLoop
struct SettlementWriter {
  private let results: WorkerConfiguration.ResultPolicy
  private let memory: MemoryWatch
  private let notifications: NotificationRecords
  private let events: JobEvents
  /// Whether a record is written before its job is settled.
  private let isSeparate: Bool
  private let queues: [String]

  init(_ configuration: WorkerConfiguration, _ memory: MemoryWatch) {
    events = JobEvents(areWritten: configuration.writesEvents, queues: configuration.queues)
    results = configuration.results
    self.memory = memory
    notifications = NotificationRecords(configuration)
    isSeparate = configuration.redis.isCluster
    queues = configuration.queues
  }

  /// `now` is Unix ms. Call ``Delivery/recordOutcome(_:at:)`` and ``JobObserver/ended(_:_:at:)`` before.
  func settlement(of delivery: Delivery, as outcome: JobOutcome, at now: Int64) -> Settlement {
    let isAccepted = outcome.status == .accepted
    var hasRecord = keepsRecord(outcome.status, isFirst: delivery.leftNoRecord)
    let isLeftOut = hasRecord && isAccepted && delivery.leftNoRecord && memory.leavesOutAccepted(delivery.id)
    if isLeftOut { hasRecord = false }
    // The reply list gets the end of the job, not every attempt.
    let replyTo = outcome.status.isFinal ? delivery.job.replyTo : nil
    var record: Settlement.Record?
    if hasRecord || replyTo != nil {
      let json = delivery.tally.result.json(
        nonce: delivery.claim.envelope.nonce, isSeparate: isSeparate,
        queue: outcome.status.isFinal ? nil : queues[delivery.claim.queueIndex])
      if !isLeftOut { memory.wroteRecord(json.count + delivery.id.utf8.count, isAccepted: isAccepted) }
      record = Settlement.Record(
        jobID: delivery.id, json: json,
        timeToLive: isLeftOut ? .zero : isAccepted ? memory.lifetime : memory.longestLifetime,
        author: hasRecord ? delivery.state.recordAuthor : nil)
    }
    let notes = notifications.records(of: delivery, outcome.status, at: now)
    // With it, a job would take more at each attempt.
    if memory.stage == .full { delivery.state.history = JobHistory() }
    let settlement = Settlement(
      outcome.exit, as: element(of: delivery, outcome, hasRecord: hasRecord, at: now), at: now, record: record,
      replyTo: replyTo, notifications: notes, locator: outcome.isAcknowledged ? nil : delivery.locator,
      events: events.events(of: delivery, as: outcome, at: now))
    if memory.stage == .full {
      return memory.trimmed(settlement, element: delivery.claim.element, replaces: !delivery.leftNoRecord)
    }
    if !notes.isEmpty { memory.wrote(notes) }
    return settlement
  }

  /// The settlement of an element that is not a valid job: buries it byte for byte.
  func refusal(of claim: Claim, reason: String, worker: String) -> Settlement {
    let now = Clock.unixMilliseconds
    let id = Job.salvagedID(from: claim.envelope.job) ?? JobID.derived(nonce: claim.envelope.nonce ?? "")
    var result = JobResult(
      id: id, status: .dead, reason: reason, attempts: claim.envelope.attempts + 1, worker: worker,
      claimedAt: claim.claimedAt, finishedAt: now)
    result.history.append(claim.claimedAt, .claimed(worker: worker, attempt: result.attempts, waited: nil))
    result.history.append(now, .buried(reason: reason))
    result.turn = claim.envelope.turn(AttemptState(json: claim.envelope.state))
    let letter = DeadLetter(id: id, reason: reason, at: now, attempts: result.attempts, envelope: claim.envelope)
    var settlement = Settlement(
      .bury(reason: reason), as: letter.bytes, at: now, record: record(result, nonce: claim.envelope.nonce))
    settlement.locator = Settlement.Locator(jobID: id)
    settlement.events = events.refusal(of: claim, id: id, reason: reason, attempts: result.attempts, at: now)
    return memory.stage == .full ? memory.trimmed(settlement, element: claim.element, replaces: false) : settlement
  }

  /// The record of a job that Redis buried for its size; nil if its id is unknown.
  func record(of job: OversizedJob, worker: String) -> Settlement.Record? {
    guard let id = job.id, !memory.leavesOutOther() else { return nil }
    let now = Clock.unixMilliseconds
    let result = JobResult(
      id: id, status: .dead, reason: Job.tooLarge, worker: worker, claimedAt: now, finishedAt: now)
    return record(result, nonce: nil)
  }

  /// The record of a job that the reaper buried. It replaces those of the job's earlier attempts.
  func record(of job: CrashedJob) -> Settlement.Record? {
    guard !memory.leavesOutOther() else { return nil }
    let now = Clock.unixMilliseconds
    // The worker has been silent for at least that long.
    let claimedAt = now - QueueLimits.heartbeatTimeToLive.milliseconds
    var result = JobResult(
      id: job.id, status: .dead, reason: job.reason, attempts: job.attempts, worker: job.worker, claimedAt: claimedAt,
      finishedAt: now)
    if let earlier = job.state.result { result.merge(earlier: earlier) }
    result.turn = job.turn
    result.history = job.state.history
    result.history.append(now, .buried(reason: job.reason))
    var record = record(result, nonce: job.nonce)
    record?.author = job.state.recordAuthor
    return record
  }

  /// What the job goes on as; empty if it ends.
  private func element(of delivery: Delivery, _ outcome: JobOutcome, hasRecord: Bool, at now: Int64) -> [UInt8] {
    // The next attempt needs to know who wrote the record that it replaces. Computed on use: most jobs have no next attempt.
    var recordAuthor: String? { hasRecord ? delivery.tally.result.author : delivery.state.recordAuthor }
    switch outcome.exit {
    case .acknowledge, .handBack: return []
    case .schedule: return delivery.scheduledElement(recordAuthor: recordAuthor)
    case .retry(_, let countsAttempt, _):
      return delivery.nextElement(after: outcome.extent, countsAttempt: countsAttempt, recordAuthor: recordAuthor)
    case .pause:
      return delivery.nextElement(after: outcome.extent, countsAttempt: false, recordAuthor: recordAuthor)
    case .bury(let reason):
      let letter = DeadLetter(
        id: delivery.id, reason: reason, at: now, attempts: delivery.tally.result.attempts,
        envelope: delivery.buriedEnvelope(after: outcome.extent, recordAuthor: recordAuthor))
      return letter.bytes
    }
  }

  /// Whether the settings keep such a record. `isFirst`: no earlier attempt has left one.
  private func keepsRecord(_ status: JobStatus, isFirst: Bool) -> Bool {
    switch results {
    case .none: false
    case .failures: status != .deferred && !(status == .accepted && isFirst)
    case .all: true
    }
  }

  /// The record of a dead job; nil if the settings keep none.
  private func record(_ result: JobResult, nonce: String?) -> Settlement.Record? {
    guard keepsRecord(.dead, isFirst: true) else { return nil }
    return Settlement.Record(
      jobID: result.id, json: result.json(nonce: nonce, isSeparate: isSeparate), timeToLive: memory.longestLifetime)
  }
}

extension Delivery {
  /// How operators find the job while it waits for its time, or is dead.
  var locator: Settlement.Locator {
    Settlement.Locator(jobID: id, isProducers: job.id != nil, replaces: stillReplaces)
  }

  /// Whether no earlier attempt can have left a record. A worker that died may have left one without a result.
  var leftNoRecord: Bool { !state.hasResult && state.recordAuthor == nil && claim.envelope.crashes == 0 }

  /// Writes the outcome into the attempt's result. `now` is Unix ms.
  func recordOutcome(_ outcome: JobOutcome, at now: Int64) {
    tally.result.status = outcome.status
    tally.result.finishedAt = now
    switch outcome.exit {
    case .acknowledge, .schedule, .handBack: tally.result.reason = outcome.reason
    case .retry(_, _, let reason): tally.result.reason = reason
    case .pause: tally.result.reason = JobOutcome.pausedReason
    case .bury(let reason): tally.result.reason = reason
    }
  }
}

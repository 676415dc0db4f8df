import EventLoop
import Events
import Redis
import Telemetry

/// Writes settlements. Those of one turn of the loop leave together, and those that Redis did not confirm are written
/// again.
@EventLoop
final class Settler {
  private let context: QueueContext
  private let records: SeparateRecords
  private var backlog: SettlementBacklog
  private var isFlushScheduled = false
  private var retryTimer: LoopTimer?
  private var hasFault = false

  init(_ context: QueueContext) {
    self.context = context
    records = SeparateRecords(connection: context.connection, events: context.events)
    backlog = SettlementBacklog(
      queueCount: context.queues.count, hasSeparateRecords: context.connection.isCluster)
  }

  /// Settles a claim once: a second settlement is ignored, as the first one is written until Redis confirms it.
  func settle(_ claim: Claim, _ settlement: consuming Settlement) {
    guard !claim.isFenced, !claim.isSettled else { return }
    claim.isSettled = true
    backlog.append(PendingSettlement(claim, settlement))
    scheduleFlush()
  }

  /// Writes what is pending, now or when the connection and the lease are back.
  func flush() {
    isFlushScheduled = false
    guard context.connection.isReady, context.lease.isConfirmed else { return scheduleRetry() }
    for index in context.queues.indices {
      let batch = backlog.takeBatch(queueIndex: index)
      for entry in batch.unrecorded { record(entry) }
      for part in batch.acknowledgements.batches(of: QueueLimits.acknowledgeBatch) {
        acknowledge(part, queueIndex: index)
      }
      for entry in batch.others { settle(entry) }
    }
  }

  private func scheduleFlush() {
    guard !isFlushScheduled, retryTimer == nil else { return }
    isFlushScheduled = true
    EventLoop.atEndOfTurn { [self] in flush() }
  }

  private func scheduleRetry() {
    guard retryTimer == nil, !backlog.isEmpty else { return }
    retryTimer = .after(QueueLimits.faultPause) { [weak self] in
      self?.retryTimer = nil
      self?.flush()
    }
  }

  // MARK: - Records before the job, in a cluster

  private func record(_ entry: PendingSettlement) {
    records.write(entry.settlement, nonce: entry.claim.envelope.nonce) { [self] result in
      switch result {
      case .success(let isWritten):
        if !isWritten { noteKeptRecord(of: entry) }
        entry.noteRecorded()
        noteRecovery()
        guard !entry.claim.isFenced else { return }
        backlog.append(entry)
        scheduleFlush()
      case .failure(let error): keep(CollectionOfOne(entry), after: error)
      }
    }
  }

  // MARK: - Acknowledgements

  private func acknowledge(_ entries: ArraySlice<PendingSettlement>, queueIndex: Int) {
    let inflight = context.queues[queueIndex].inflight(context.lease.name.value)
    let batch = AcknowledgeBatch(entries, context.ledger, context.mode, queueIndex: queueIndex)
    context.connection.send(batch.call(inflight: inflight, context.mode)) { [self] result in
      switch result {
      case .success(let answer):
        // The claims count as settled now, so that each job is searched.
        guard let answer = AcknowledgeAnswer(answer) else { return acknowledge(entries, queueIndex: queueIndex) }
        finish(batch, answer)
      case .failure(let error): keep(entries, after: error)
      }
    }
  }

  private func finish(_ batch: AcknowledgeBatch, _ answer: AcknowledgeAnswer) {
    for (place, entry) in batch.entries.enumerated() {
      if answer.keptRecords.contains(place) { noteKeptRecord(of: entry) }
      end(entry, isMissing: answer.missing.contains(place))
    }
    noteLeftOut(answer.refusal)
    noteRecovery()
    context.emit(.progress)
  }

  // MARK: - Other settlements

  /// Writes one settlement. `refusal` is the error that the omission is due to.
  private func settle(
    _ entry: PendingSettlement, omitting omission: SettlementOmission = .nothing, refusal: String = ""
  ) {
    let (claim, settlement) = (entry.claim, entry.settlement)
    let keys = context.queues[claim.queueIndex]
    claim.isSent = true
    let events = omission.hasEvents ? [] : settlement.events
    let call = settlement.call(
      of: claim, keys, worker: context.lease.name.value, context.mode,
      seal: context.lease.seal(queueIndex: claim.queueIndex), replyTo: omission.hasReply ? nil : settlement.replyTo,
      events: events)
    context.connection.send(call) { [self] result in
      switch result {
      case .success(let answer):
        note(omission, of: settlement, refusal)
        finish(entry, SettleAnswer(answer), events: events)
      case .failure(let error):
        // The producer's choice of a key must not keep the job here, and neither must an event.
        guard case .reply(let reply) = error, reply.code == "NOPERM",
          let next = omission.next(hasEvents: !settlement.events.isEmpty, hasReply: settlement.replyTo != nil)
        else { return keep(CollectionOfOne(entry), after: error) }
        settle(entry, omitting: next, refusal: reply.message)
      }
    }
  }

  private func note(_ omission: SettlementOmission, of settlement: Settlement, _ refusal: String) {
    if omission.hasEvents { context.events?.refuse(settlement.events.count, refusal) }
    if omission.hasReply, let reply = settlement.replyTo { context.warnings.noteForbiddenReply(reply) }
  }

  private func finish(_ entry: PendingSettlement, _ answer: SettleAnswer, events: [Event]) {
    let target = entry.settlement.verb.target(context.queues[entry.claim.queueIndex])
    switch answer {
    case .wrongType:
      if let target { context.warnings.noteWrongType(target) }
      return keep(CollectionOfOne(entry), after: nil)
    case .missing: end(entry, isMissing: true)
    case .settled(let droppedLetters, let keptRecord, let refusedEvents, let refusedRecord):
      note(events, refused: refusedEvents)
      noteLeftOut(refusedRecord)
      if keptRecord { noteKeptRecord(of: entry) }
      count(entry.settlement.verb)
      context.warnings.noteDroppedLetters(droppedLetters, context.queues[entry.claim.queueIndex])
      end(entry, isMissing: false)
    }
    if let target { context.warnings.noteRightType(target) }
    noteRecovery()
    context.emit(.progress)
  }

  // MARK: - Answers

  private func end(_ entry: PendingSettlement, isMissing: Bool) {
    context.ledger.remove(entry.claim)
    guard isMissing, entry.isLostWhenMissing else { return }
    entry.claim.isFenced = true
    context.metrics.fenced.increment()
  }

  private func keep(_ entries: some Sequence<PendingSettlement>, after error: RedisError?) {
    if let error, error.isRefusal, !hasFault {
      hasFault = true
      context.log.warn(
        "Redis refused settlements; they are written again until it accepts them", ["error": .init("\(error)")])
    }
    backlog.keep(entries, after: error)
    scheduleRetry()
  }

  private func noteRecovery() {
    guard hasFault else { return }
    hasFault = false
    context.log.info("Redis accepts settlements again")
  }

  private func noteKeptRecord(of entry: PendingSettlement) {
    guard let id = entry.settlement.record?.jobID else { return }
    context.warnings.noteKeptRecord(id: id, queue: context.queues[entry.claim.queueIndex].queue)
  }

  /// Redis refused records of jobs that have left.
  private func noteLeftOut(_ refusal: String?) {
    if let refusal { context.connection.instruments?.record(RedisReplyError(message: refusal)) }
  }

  private func note(_ events: [Event], refused error: String?) {
    guard !events.isEmpty else { return }
    guard let error else { return context.events?.noteWritten(events.map(\.type)) ?? () }
    context.events?.refuse(events.count, error)
  }

  private func count(_ verb: Settlement.Verb) {
    switch verb {
    case .retry: context.metrics.retries.increment()
    case .bury: context.metrics.buried.increment()
    case .acknowledge, .schedule, .handBack, .pause: break
    }
  }
}

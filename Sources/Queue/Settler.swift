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
  /// Keys that were last found to hold another type. Each is logged once.
  private var wrongTypes: Set<String> = []

  init(_ context: QueueContext) {
    self.context = context
    records = SeparateRecords(connection: context.connection, events: context.events)
    backlog = SettlementBacklog(
      queueCount: context.queues.count, hasSeparateRecords: context.connection.isCluster)
  }

  /// Settles a claim once: a second settlement is ignored, as the first one is written until Redis confirms it.
  func settle(_ claim: Claim, _ settlement: Settlement) {
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
      acknowledge(all: batch.acknowledgements, queueIndex: index, haveAuthors: false)
      acknowledge(all: batch.laterAcknowledgements, queueIndex: index, haveAuthors: true)
      for entry in batch.moves { move(entry) }
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

  private func acknowledge(all entries: [PendingSettlement], queueIndex: Int, haveAuthors: Bool) {
    for start in stride(from: 0, to: entries.count, by: QueueLimits.acknowledgeBatch) {
      let end = min(start + QueueLimits.acknowledgeBatch, entries.count)
      acknowledge(entries[start..<end], queueIndex: queueIndex, haveAuthors: haveAuthors)
    }
  }

  private func acknowledge(_ entries: ArraySlice<PendingSettlement>, queueIndex: Int, haveAuthors: Bool) {
    let inflight = context.queues[queueIndex].inflight(context.lease.name.value)
    var keys = [inflight]
    keys.reserveCapacity(entries.count + 1)
    var timeToLive = Duration.zero
    for entry in entries {
      if let record = entry.settlement.record {
        keys.append(QueueKeys.result(record.jobID))
        timeToLive = record.timeToLive
      } else {
        keys.append(inflight)
      }
    }
    context.connection.call(QueueScripts.acknowledge, keys: keys) { command in
      command.append(timeToLive.milliseconds)
      command.append(context.mode.rawValue)
      command.append(haveAuthors ? 3 : 2)
      for entry in entries {
        command.append(entry.claim.element)
        command.append(entry.settlement.record?.json ?? [])
        if haveAuthors { command.append(entry.settlement.record?.author ?? "") }
      }
    } _: { [self] result in
      switch result {
      case .success(let answer): finish(entries, AcknowledgeAnswer(answer))
      case .failure(let error): keep(entries, after: error)
      }
    }
  }

  private func finish(_ entries: ArraySlice<PendingSettlement>, _ answer: AcknowledgeAnswer) {
    for (place, entry) in entries.enumerated() {
      if answer.keptRecords.contains(place) { noteKeptRecord(of: entry) }
      end(entry, isMissing: answer.missing.contains(place))
    }
    noteRecovery()
    context.emit(.progress)
  }

  // MARK: - Other settlements

  /// Writes one settlement. `refusal` is the error that the omission is due to.
  private func move(_ entry: PendingSettlement, omitting omission: SettlementOmission = .nothing, refusal: String = "")
  {
    let queueIndex = entry.claim.queueIndex
    let keys = context.queues[queueIndex]
    let inflight = keys.inflight(context.lease.name.value)
    let settlement = entry.settlement
    let target = settlement.verb.target(keys) ?? inflight
    let record = settlement.record
    let scriptKeys = [
      inflight, target, record.map { QueueKeys.result($0.jobID) } ?? inflight,
      omission.hasReply ? inflight : settlement.replyTo ?? inflight,
    ]
    let controlKeys = settlement.controlKeys(keys, none: inflight)
    let events = omission.hasEvents ? [] : settlement.events
    let eventKeys = events.isEmpty ? [] : [EventStream.key]
    let otherKeys = controlKeys + settlement.readerKeys + eventKeys + settlement.broadcastKeys(keys)
    context.connection.call(QueueScripts.settle, keys: scriptKeys + otherKeys) { command in
      command.append(entry.claim.element)
      command.append(context.mode.rawValue)
      settlement.verb.append(to: &command, claimed: entry.claim, seal: context.lease.seal(queueIndex: queueIndex))
      command.append(record?.json ?? [])
      command.append(record?.timeToLive.milliseconds ?? 0)
      command.append(record?.author ?? "")
      settlement.appendLocator(to: &command)
      settlement.appendNotifications(to: &command)
      for event in events { command.append(event.json) }
      if settlement.endsBroadcast { command.append(entry.claim.jobID) }
    } _: { [self] result in
      switch result {
      case .success(let answer):
        note(omission, of: settlement, refusal)
        finish(entry, SettleAnswer(answer), target: target, events: events)
      case .failure(let error):
        // The producer's choice of a key must not keep the job here, and neither must an event.
        guard case .reply(let reply) = error, reply.code == "NOPERM",
          let next = omission.next(hasEvents: !settlement.events.isEmpty, hasReply: settlement.replyTo != nil)
        else { return keep(CollectionOfOne(entry), after: error) }
        move(entry, omitting: next, refusal: reply.message)
      }
    }
  }

  private func note(_ omission: SettlementOmission, of settlement: Settlement, _ refusal: String) {
    if omission.hasEvents { context.events?.refuse(settlement.events.count, refusal) }
    if omission.hasReply, let reply = settlement.replyTo { context.warnings.noteForbiddenReply(reply) }
  }

  private func finish(_ entry: PendingSettlement, _ answer: SettleAnswer, target: String, events: [Event]) {
    switch answer {
    case .wrongType:
      if wrongTypes.insert(target).inserted { context.warnings.logWrongType(target) }
      return keep(CollectionOfOne(entry), after: nil)
    case .full:
      entry.retryInsteadOfPause()
      backlog.append(entry)
      return scheduleFlush()
    case .missing: end(entry, isMissing: true)
    case .settled(let droppedLetters, let keptRecord, let refusedEvents):
      note(events, refused: refusedEvents)
      if keptRecord { noteKeptRecord(of: entry) }
      count(entry.settlement.verb)
      context.warnings.noteDroppedLetters(droppedLetters, context.queues[entry.claim.queueIndex])
      end(entry, isMissing: false)
    }
    wrongTypes.remove(target)
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

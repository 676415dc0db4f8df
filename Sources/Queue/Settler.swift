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
    let queue = context.queues[entry.claim.queueIndex].queue
    records.write(entry.settlement, nonce: entry.claim.envelope.nonce, queue: queue) { [self] result in
      switch result {
      case .success(let isWritten):
        if !isWritten { countKeptRecord(of: entry) }
        entry.countRecorded()
        logRecovery()
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
      if answer.keptRecords.contains(place) { countKeptRecord(of: entry) }
      end(entry, isMissing: answer.missing.contains(place))
    }
    countLeftOut(answer.refusal)
    logRecovery()
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
        warnOf(omission, of: settlement, refusal)
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

  private func warnOf(_ omission: SettlementOmission, of settlement: Settlement, _ refusal: String) {
    if omission.hasEvents { context.events?.refuse(settlement.events.count, refusal) }
    if omission.hasReply, let reply = settlement.replyTo { context.warnings.warnOfForbiddenReply(reply) }
  }

  private func finish(_ entry: PendingSettlement, _ answer: SettleAnswer, events: [Event]) {
    let target = entry.settlement.exit.target(context.queues[entry.claim.queueIndex])
    switch answer {
    case .wrongType:
      if let target { context.warnings.warnOfWrongType(target) }
      return keep(CollectionOfOne(entry), after: nil)
    case .missing: end(entry, isMissing: true)
    case .settled(let droppedLetters, let keptRecord, let refusedEvents, let refusedRecord):
      count(events, refused: refusedEvents)
      countLeftOut(refusedRecord)
      if keptRecord { countKeptRecord(of: entry) }
      count(entry.settlement.exit)
      context.warnings.warnOfDroppedLetters(droppedLetters, context.queues[entry.claim.queueIndex])
      end(entry, isMissing: false)
    }
    if let target { context.warnings.clearWrongType(target) }
    logRecovery()
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
      // Operator: Redis refuses writes: memory, disk, ACL. See `error`.
      context.log.warn(
        "Redis refused settlements; they are written again until it accepts them", ["error": .init("\(error)")])
    }
    backlog.keep(entries, after: error)
    scheduleRetry()
  }

  private func logRecovery() {
    guard hasFault else { return }
    hasFault = false
    context.log.info("Redis accepts settlements again")
  }

  private func countKeptRecord(of entry: PendingSettlement) {
    guard let id = entry.settlement.record?.jobID else { return }
    context.warnings.warnOfKeptRecord(id: id, queue: context.queues[entry.claim.queueIndex].queue)
  }

  /// Redis refused records of jobs that have left.
  private func countLeftOut(_ refusal: String?) {
    if let refusal { context.connection.instruments?.record(RedisReplyError(message: refusal)) }
  }

  private func count(_ events: [Event], refused error: String?) {
    guard !events.isEmpty else { return }
    guard let error else { return context.events?.countWritten(events.map(\.type)) ?? () }
    context.events?.refuse(events.count, error)
  }

  private func count(_ exit: JobExit) {
    switch exit {
    case .retry: context.metrics.retries.increment()
    case .bury: context.metrics.buried.increment()
    case .acknowledge, .schedule, .handBack, .pause: break
    }
  }
}

/// Parts of a settlement that are skipped because this user of Redis lacks the right to write them. Redis checks the keys before it runs a
/// script, and does not name the key.
///
/// The cases are in the order of the attempts. The last one writes neither events nor the reply.
enum SettlementOmission: CaseIterable {
  case nothing
  case events
  case reply
  case replyAndEvents

  var hasEvents: Bool { self == .events || self == .replyAndEvents }
  var hasReply: Bool { self == .reply || self == .replyAndEvents }

  /// The next attempt at a settlement with or without events and a reply; nil if there is nothing more to leave out.
  func next(hasEvents: Bool, hasReply: Bool) -> SettlementOmission? {
    SettlementOmission.allCases.drop { $0 != self }.dropFirst().first { omission in
      (hasEvents || !omission.hasEvents) && (hasReply || !omission.hasReply)
    }
  }
}

/// A settlement that Redis has not confirmed yet. A class, because it moves from list to list.
@EventLoop
final class PendingSettlement {
  let claim: Claim
  /// What is still to be written.
  private(set) var settlement: Settlement
  /// It was written once, and the answer did not arrive: the job may have left the in-flight list.
  fileprivate(set) var mayBeWritten = false

  init(_ claim: Claim, _ settlement: consuming Settlement) {
    self.claim = claim
    self.settlement = settlement
  }

  /// The records were written (``SeparateRecords``): only the job itself is left to settle.
  func countRecorded() {
    let old = settlement
    settlement = Settlement(old.exit, as: old.element, at: old.at, locator: old.locator)
  }

  /// Whether the fleet has taken the job, given that the script did not find it in the in-flight list.
  var isLostWhenMissing: Bool { !mayBeWritten && !claim.isFenced }
}

/// The settlements of one queue, grouped by the script that writes them.
struct SettlementBatch {
  /// Plain acknowledgements: many of them are written by one script.
  var acknowledgements: [PendingSettlement] = []
  /// Those whose records must be written first, in a cluster.
  var unrecorded: [PendingSettlement] = []
  /// All others. Each is written by a separate script call.
  var others: [PendingSettlement] = []
}

/// The settlements that are to be written, per queue, for the first time or again.
///
/// A settlement leaves with ``takeBatch(queueIndex:)`` and comes back with ``keep(_:after:)`` if Redis did not confirm
/// it. Those of fenced claims are dropped: their jobs belong to other workers.
@EventLoop
struct SettlementBacklog {
  private var pending: [[PendingSettlement]]
  /// Whether records are in other hash slots than their queue.
  private let hasSeparateRecords: Bool

  init(queueCount: Int, hasSeparateRecords: Bool = false) {
    pending = Array(repeating: [], count: queueCount)
    self.hasSeparateRecords = hasSeparateRecords
  }

  var isEmpty: Bool { pending.allSatisfy(\.isEmpty) }

  mutating func append(_ entry: PendingSettlement) {
    pending[entry.claim.queueIndex].append(entry)
  }

  /// Removes all settlements of a queue, and returns those that are to be written.
  mutating func takeBatch(queueIndex: Int) -> SettlementBatch {
    let entries = pending[queueIndex]
    pending[queueIndex] = []
    var batch = SettlementBatch()
    batch.acknowledgements.reserveCapacity(entries.count)
    var timeToLive: Duration?
    // A plain loop: an isolated closure checks its executor at every call.
    for entry in entries where !entry.claim.isFenced {
      if mustBeRecorded(entry) {
        batch.unrecorded.append(entry)
      } else if entry.settlement.isPlain(&timeToLive) {
        batch.acknowledgements.append(entry)
      } else {
        batch.others.append(entry)
      }
    }
    return batch
  }

  /// Whether the records of a settlement are to be written before the job is settled.
  private func mustBeRecorded(_ entry: PendingSettlement) -> Bool {
    hasSeparateRecords && entry.settlement.hasRecords
  }

  /// Keeps settlements that Redis did not confirm, to be written again. `error` is nil if a script refused them.
  mutating func keep(_ entries: some Sequence<PendingSettlement>, after error: RedisError?) {
    var isUncertain = false
    if case .outcomeUnknown = error { isUncertain = true }
    for entry in entries where !entry.claim.isFenced {
      if isUncertain, !mustBeRecorded(entry) { entry.mayBeWritten = true }
      append(entry)
    }
  }
}

/// Plain acknowledgements that one call of ``QueueScripts/acknowledge`` writes.
@EventLoop
struct AcknowledgeBatch {
  /// The oldest jobs that have a record, then the jobs that are searched, then the oldest jobs without a record, which are
  /// only counted. The places of the answer are those of this list.
  let entries: [PendingSettlement]
  private let oldest: ClaimLedger.Run?
  /// The number of the oldest jobs that have a record; at most once that of all jobs that have one.
  private let together: Int
  private let counted: Int

  init(_ pending: ArraySlice<PendingSettlement>, _ ledger: ClaimLedger, _ mode: DeliveryMode, queueIndex: Int) {
    for entry in pending { entry.claim.isNext = !entry.claim.isSent }
    oldest = mode == .atMostOnce ? nil : ledger.takeOldest(queueIndex: queueIndex)
    var recorded: [PendingSettlement] = []
    var searched: [PendingSettlement] = []
    var bare: [PendingSettlement] = []
    recorded.reserveCapacity(pending.count)
    for entry in pending {
      let isOldest = entry.claim.isNext && entry.claim.serial <= oldest?.last.serial ?? 0
      entry.claim.isSent = true
      if mode == .atLeastOnce, !isOldest {
        searched.append(entry)
      } else if entry.settlement.record == nil {
        bare.append(entry)
      } else {
        recorded.append(entry)
      }
    }
    (together, counted) = (recorded.count, bare.count)
    entries = recorded + searched + bare
  }

  func call(inflight: String, _ mode: DeliveryMode) -> RedisCall {
    let listed = entries.dropLast(counted)
    var records: [String] = []
    records.reserveCapacity(listed.count)
    var timeToLive = Duration.zero
    // A plain loop: an isolated closure checks its executor at every call.
    for entry in listed {
      if let record = entry.settlement.record {
        records.append(QueueKeys.result(record.jobID))
        timeToLive = record.timeToLive
      } else {
        records.append(inflight)
      }
    }
    var call = QueueScripts.acknowledge(
      inflight: inflight, records: RedisList(records), mode: mode.rawValue, ttl: timeToLive.milliseconds,
      count: oldest?.count ?? 0, first: oldest?.first.element ?? [], last: oldest?.last.element ?? [],
      together: together, jobs: RedisList())
    for entry in listed { call.append(entry.settlement.record?.json ?? []) }
    for entry in listed.dropFirst(together) { call.append(entry.claim.element) }
    return call
  }
}

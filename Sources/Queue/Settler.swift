import Jobs
import EventLoop
import Redis
import Telemetry

/// Writes settlements: those of one turn leave together, those that Redis did not take are kept and written again.
@EventLoop
final class Settler {
  private let connection: RedisConnection
  private let queues: [QueueKeys]
  private let mode: DeliveryMode
  private let lease: Lease
  private let ledger: ClaimLedger
  private let metrics: QueueMetrics
  private let burials: BurialReport
  private let keptRecords: KeptRecords
  private let log: Log
  private var waiting: [[Entry]]
  private var isFlushScheduled = false
  private var retryTimer: LoopTimer?
  private var hasFault = false
  /// Keys that were last found to hold another type.
  private var broken: Set<String> = []

  /// Called whenever settlements have been confirmed or given up.
  var onSettled: (@EventLoop () -> Void)?

  /// An object: it goes from list to list on its way.
  private final class Entry {
    let claim: Claim
    let settlement: Settlement
    /// Written before without an answer: finding the job gone then means that it was settled.
    var mayBeWritten = false

    init(_ claim: Claim, _ settlement: Settlement) {
      self.claim = claim
      self.settlement = settlement
    }
  }

  init(
    connection: RedisConnection, queues: [QueueKeys], mode: DeliveryMode, lease: Lease, ledger: ClaimLedger,
    metrics: QueueMetrics, burials: BurialReport, keptRecords: KeptRecords, log: Log
  ) {
    self.connection = connection
    self.queues = queues
    self.mode = mode
    self.lease = lease
    self.ledger = ledger
    self.metrics = metrics
    self.burials = burials
    self.keptRecords = keptRecords
    self.log = log
    waiting = Array(repeating: [], count: queues.count)
  }

  func settle(_ claim: Claim, _ settlement: Settlement) {
    guard !claim.isFenced else { return }
    waiting[claim.queueIndex].append(Entry(claim, settlement))
    scheduleFlush()
  }

  /// Tries again what is waiting; for a connection that has come back.
  func flush() {
    isFlushScheduled = false
    guard connection.isReady, lease.isHeld, lease.isConfirmed else { return putOff() }
    for index in queues.indices where !waiting[index].isEmpty {
      let entries = waiting[index]
      waiting[index] = []
      var plain: [Entry] = []
      plain.reserveCapacity(entries.count)
      var later: [Entry] = []
      var others: [Entry] = []
      // Loops, as closures that are isolated ask for their executor at every call.
      for entry in entries where !entry.claim.isFenced {
        guard entry.settlement.isPlain else {
          others.append(entry)
          continue
        }
        if entry.settlement.record?.author == nil { plain.append(entry) } else { later.append(entry) }
      }
      acknowledge(all: plain, in: index, haveAuthors: false)
      acknowledge(all: later, in: index, haveAuthors: true)
      for entry in others { move(entry, in: index) }
    }
  }

  private func scheduleFlush() {
    guard !isFlushScheduled, retryTimer == nil else { return }
    isFlushScheduled = true
    EventLoop.atEndOfTurn { [self] in flush() }
  }

  private func putOff() {
    guard retryTimer == nil, waiting.contains(where: { !$0.isEmpty }) else { return }
    retryTimer = .after(QueueLimits.faultPause) { [weak self] in
      self?.retryTimer = nil
      self?.flush()
    }
  }

  private func acknowledge(all entries: [Entry], in index: Int, haveAuthors: Bool) {
    for start in stride(from: 0, to: entries.count, by: QueueLimits.acknowledgeBatch) {
      let end = min(start + QueueLimits.acknowledgeBatch, entries.count)
      acknowledge(entries[start..<end], in: index, haveAuthors: haveAuthors)
    }
  }

  private func acknowledge(_ entries: ArraySlice<Entry>, in index: Int, haveAuthors: Bool) {
    let inflight = queues[index].inflight(lease.name.value)
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
    connection.call(QueueScripts.acknowledge, keys: keys) { command in
      command.append(timeToLive.milliseconds)
      command.append(mode == .atMostOnce ? "keep" : "take")
      command.append(haveAuthors ? 3 : 2)
      for entry in entries {
        command.append(entry.claim.element)
        command.append(entry.settlement.record?.json ?? [])
        if haveAuthors { command.append(entry.settlement.record?.author ?? "") }
      }
    } _: { [self] result in
      switch result {
      case .success(let answer):
        let places = Set((answer.array ?? []).compactMap(\.integer))
        for (place, entry) in entries.enumerated() {
          if places.contains(Int64(-1 - place)) { noteKept(entry) }
          conclude(entry, wasLost: places.contains(Int64(place)))
        }
        recovered()
      case .failure(let error): keep(Array(entries), in: index, after: error)
      }
    }
  }

  private func move(_ entry: Entry, in index: Int) {
    let keys = queues[index]
    let inflight = keys.inflight(lease.name.value)
    let settlement = entry.settlement
    let target = settlement.verb.target(keys) ?? inflight
    let record = settlement.record
    let scriptKeys = [
      inflight, target, record.map { QueueKeys.result($0.jobID) } ?? inflight, settlement.replyTo ?? inflight,
    ]
    let readerKeys = settlement.notifications.flatMap { $0.readers.flatMap(\.keys) }
    connection.call(QueueScripts.settle, keys: scriptKeys + readerKeys) { command in
      command.append(entry.claim.element)
      command.append(mode == .atMostOnce ? "keep" : "take")
      settlement.verb.append(to: &command, claimed: entry.claim, seal: lease.seal(queueIndex: index))
      command.append(record?.json ?? [])
      command.append(record?.timeToLive.milliseconds ?? 0)
      command.append(record?.onlyIfAbsent == true ? "NX" : record?.author ?? "")
      settlement.appendNotifications(to: &command)
    } _: { [self] result in
      switch result {
      case .success(.integer(-1)):
        if broken.insert(target).inserted {
          log.error("a queue key holds another type; move it away, its jobs wait", ["key": .init(target)])
        }
        keep([entry], in: index, after: nil)
      case .success(let answer):
        broken.remove(target)
        let done = Int(answer.integer ?? answer.array?.first?.integer ?? 0)
        if answer.array != nil { noteKept(entry) }
        if done > 0 { count(settlement.verb) }
        burials.note(droppedLetters: done - 1, keys)
        conclude(entry, wasLost: done == 0)
        recovered()
      case .failure(let error): keep([entry], in: index, after: error)
      }
    }
  }

  private func noteKept(_ entry: Entry) {
    guard let id = entry.settlement.record?.jobID else { return }
    keptRecords.note(id: id, queue: queues[entry.claim.queueIndex].queue)
  }

  private func conclude(_ entry: Entry, wasLost: Bool) {
    ledger.remove(entry.claim)
    if wasLost, !entry.mayBeWritten, !entry.claim.isFenced {
      entry.claim.isFenced = true
      metrics.fenced.increment()
    }
    onSettled?()
  }

  private func keep(_ entries: [Entry], in index: Int, after error: RedisError?) {
    if let error, error.isRefusal, !hasFault {
      hasFault = true
      log.warn("Redis did not take settlements; they are kept and written again", ["error": .init("\(error)")])
    }
    var isUncertain = false
    if case .outcomeUnknown = error { isUncertain = true }
    for entry in entries where !entry.claim.isFenced {
      entry.mayBeWritten = entry.mayBeWritten || isUncertain
      waiting[index].append(entry)
    }
    putOff()
  }

  private func recovered() {
    guard hasFault else { return }
    hasFault = false
    log.info("Redis takes settlements again")
  }

  private func count(_ verb: Settlement.Verb) {
    switch verb {
    case .retry: metrics.retries.increment()
    case .bury: metrics.buried.increment()
    case .acknowledge, .schedule, .handBack: break
    }
  }
}

public import EventLoop
import Events
public import Jobs
import Queue
public import Redis

/// The queues of a fleet, as operators read and steer them.
@EventLoop
public struct FleetQueues {
  let names: [String]
  package let connection: RedisClient
  let recordTimeToLive: Duration

  /// `recordTimeToLive` is that of the records of jobs that are cancelled: MARTLET_RESULT_TTL.
  public init(_ names: [String], connection: RedisClient, recordTimeToLive: Duration = .seconds(24 * 3600)) {
    self.names = names
    self.connection = connection
    self.recordTimeToLive = recordTimeToLive
  }

  var keys: [QueueKeys] { names.map(QueueKeys.init(queue:)) }

  // MARK: - Workers
  //
  // Drains workers: a drained worker claims nothing more, finishes what it has, and keeps running.

  /// Asks a worker to claim nothing more. Returns false if no queue has a worker of this name.
  @discardableResult
  public func drain(_ worker: String) async throws(RedisError) -> Bool { try await change(worker, "drain") }

  /// Lets a worker claim again. Returns false if it was not drained.
  @discardableResult
  public func undrain(_ worker: String) async throws(RedisError) -> Bool { try await change(worker, "undrain") }

  private func change(_ worker: String, _ verb: String) async throws(RedisError) -> Bool {
    var isKnown = false
    for keys in keys {
      let answer = try await connection.send(
        OperationsScripts.drain(
          control: keys.control, drained: keys.drained, workers: keys.workers, worker: worker, verb: verb))
      if answer.integer == 1 { isKnown = true }
    }
    return isKnown
  }

  // MARK: - Jobs
  //
  // Cancels jobs, or runs them before their time. A job that has moved on meanwhile is never run or ended twice.

  /// The result of a request to cancel.
  public enum Cancellation: Sendable, Equatable {
    /// The job will not be sent, or not any further. `record` was written.
    case cancelled(record: JobResult)
    /// The job is waiting or in flight, or was not found. The worker that has or takes it ends it and writes the record.
    case marked(JobLocation)
    /// It is a dead letter, and stays one.
    case dead(JobLocation)
    /// It had ended before. Its record stays.
    case ended(JobLocation)
    /// No job can have the id.
    case invalid
    /// A queue has ``maximumCancellations`` already. In the queues before it the id is cancelled.
    case tooMany
  }

  /// How long an id stays cancelled.
  private static let cancellationTimeToLive = Duration.seconds(24 * 3600)
  /// Cancelled ids of a queue at most.
  public nonisolated static let maximumCancellations = 10_000
  /// A job may move during the search. After this many moves, the worker that claims the job cancels it by its mark.
  private static let maximumMoves = 3

  /// Moves a retried or scheduled job to the front of its queue. Returns nil, or where the job is if it is not waiting for
  /// its time (any more).
  public func runNow(_ id: String) async throws(RedisError) -> JobLocation? {
    for keys in keys where Job.isID(id) {
      let answer = try await connection.send(
        OperationsScripts.runDue(
          due: keys.due(id), retry: keys.retry, scheduled: keys.scheduled, queue: keys.queue, seal: keys.seal,
          word: Seal.random()))
      if answer.integer == 1 { return nil }
    }
    return try await locate(id)
  }

  /// Cancels a job.
  ///
  /// The id is marked first, so that a worker that claims the job meanwhile finds the mark. The mark stays for
  /// ``cancellationTimeToLive``, or until its dead letter is requeued or its broadcast is resumed: a job that is
  /// enqueued under the id meanwhile is cancelled, too.
  public func cancel(_ id: String) async throws(RedisError) -> Cancellation {
    guard Job.isID(id) else { return .invalid }
    guard try await mark(id) else { return .tooMany }
    return try await cancelMarked(id)
  }

  /// Cancels a job whose id is marked: its worker may have put it off since ``cancel(_:)``, or have ended it.
  public func cancelMarked(_ id: String) async throws(RedisError) -> Cancellation {
    var location: JobLocation
    var moves = 0
    repeat {
      if let record = try await cancelDue(id) { return .cancelled(record: record) }
      location = try await locate(id)
      moves += 1
      // A job that is found here was postponed between the two steps.
    } while location.isKept && moves < FleetQueues.maximumMoves
    return switch location.place {
    case .dead: .dead(location)
    case .ended: .ended(location)
    case .waiting, .inFlight, .retry, .scheduled, .paused, .unknown: .marked(location)
    }
  }

  /// Returns false if a queue has too many marks.
  private func mark(_ id: String) async throws(RedisError) -> Bool {
    for keys in keys {
      let answer = try await connection.send(
        OperationsScripts.mark(
          control: keys.control, cancelled: keys.cancelled, id: id,
          ttl: FleetQueues.cancellationTimeToLive.milliseconds, most: FleetQueues.maximumCancellations))
      guard answer.integer == 1 else { return false }
    }
    return true
  }

  // MARK: - Jobs that no worker has

  /// Ends a retried or scheduled job, or a paused broadcast. Returns the record; nil if there is no such job.
  private func cancelDue(_ id: String) async throws(RedisError) -> JobResult? {
    for keys in keys {
      if let record = try await cancelDue(id, keys) { return record }
    }
    return nil
  }

  private func cancelDue(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> JobResult? {
    // The job may have moved between the two steps, and back again.
    for _ in 0..<FleetQueues.maximumMoves {
      guard let due = try await due(id, keys), due.isAlive, let envelope = due.envelope else { return nil }
      var ending = CancelledEnding(id: id, queue: keys.queue, envelope: envelope, timeToLive: recordTimeToLive)
      if let list = ending.replyTo, names.contains(list) { ending.replyTo = nil }
      if try await endAsAllowed(envelope, ending, keys) {
        try await writeBroadcast(id, keys)
        return ending.result
      }
    }
    return nil
  }

  /// If the job is a broadcast, operators see that it is cancelled.
  private func writeBroadcast(_ id: String, _ keys: QueueKeys) async throws(RedisError) {
    guard var entry = try await entry(id, keys) else { return }
    entry.state = .cancelled
    entry.changedAt = Clock.unixMilliseconds
    _ = try await connection.send(entry.writing(keys))
  }

  /// Leaves out what the user of Redis may not write: neither the producer's reply list nor the events may prevent the
  /// end of the job.
  private func endAsAllowed(
    _ found: Envelope, _ ending: CancelledEnding, _ keys: QueueKeys
  ) async throws(RedisError) -> Bool {
    var ending = ending
    while true {
      do { return try await end(found, ending, keys) } catch {
        guard case .reply(let refusal) = error, refusal.code == "NOPERM" else { throw error }
        if ending.replyTo != nil {
          ending.replyTo = nil
        } else if ending.event != nil {
          ending.event = nil
        } else {
          throw error
        }
      }
    }
  }

  /// In a cluster record, reply and event are in other hash slots, and are written when the job is gone.
  private func end(
    _ found: Envelope, _ ending: CancelledEnding, _ keys: QueueKeys
  ) async throws(RedisError) -> Bool {
    let due = keys.due(ending.result.id)
    let isSeparate = connection.isCluster
    let answer = try await connection.send(
      OperationsScripts.cancelDue(
        due: due, retry: keys.retry, scheduled: keys.scheduled,
        record: isSeparate ? due : QueueKeys.result(ending.result.id), reply: isSeparate ? due : ending.replyTo ?? due,
        stream: isSeparate || ending.event == nil ? due : EventStream.key,
        head: Array(found.element.prefix { $0 != UInt8(ascii: "\n") }), json: ending.record.json,
        ttl: ending.record.timeToLive.milliseconds, author: ending.record.author ?? "", event: ending.event?.json ?? [])
    )
    guard answer.integer == 1 else { return false }
    if isSeparate { await writeSeparately(ending, nonce: found.nonce, queue: keys.queue) }
    return true
  }

  private func writeSeparately(_ ending: CancelledEnding, nonce: String?, queue: String) async {
    let records = SeparateRecords(connection: connection)
    let settlement = Settlement(.acknowledge, record: ending.record, replyTo: ending.replyTo)
    _ = await withCheckedContinuation { continuation in
      records.write(settlement, nonce: nonce, queue: queue) { continuation.resume(returning: $0) }
    }
    guard let event = ending.event else { return }
    _ = try? await connection.send(EventScripts.appendIfPresent(stream: EventStream.key, event: event.json))
  }

  // MARK: - Finding a job
  //
  // Finds jobs by their ids, in bounded time for queues of any length.
  //
  // A job in `retry`, `scheduled` or `dead` has a locator. The lists in flight are searched whole, because they are short. Of a
  // queue, ``lookElements`` elements are searched at each end, fewer if they are large.

  /// Elements of a list that are searched for a job at each of its ends, at most.
  private static let lookElements = 1000
  /// Elements at which the looks at both ends must overlap to have read the whole queue.
  private static let lookOverlap = 200
  /// Bytes that are read of an element without the id: enough for its seal and the head of its envelope, whose nonce tells the
  /// id of a job without one.
  private static let envelopeBytes = 160

  /// Returns where a job is now. If several jobs have the id, returns the one that is furthest from its end.
  public func locate(_ id: String) async throws(RedisError) -> JobLocation {
    guard Job.isID(id) else { return JobLocation(id: id, place: .unknown(isWaitingPossible: false)) }
    let record = try await connection.send(RedisCommand("GET", QueueKeys.result(id))).contents
    var location = try await find(id)
    location.record = record.flatMap(JobResult.init(parsing:))
    if case .unknown = location.place, let record = location.record, record.status.isFinal {
      location.place = .ended(record.status)
    }
    return location
  }

  /// The letters come last: a dead job may have been enqueued again under its id.
  private func find(_ id: String) async throws(RedisError) -> JobLocation {
    var dead: JobLocation?
    var isWhole = true
    for keys in keys {
      let due = try await due(id, keys)
      if let due, due.isAlive { return due }
      dead = dead ?? due
      if let inFlight = try await inFlight(id, keys) { return inFlight }
      let search = try await waiting(id, keys)
      if let waiting = search.found { return waiting }
      isWhole = isWhole && search.isWhole
    }
    return dead ?? JobLocation(id: id, place: .unknown(isWaitingPossible: !isWhole))
  }

  // MARK: - Sorted sets

  /// A retried, scheduled or dead job of one queue; nil if it has none.
  func due(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> JobLocation? {
    let value = try await connection.send(
      OperationsScripts.findDue(due: keys.due(id), retry: keys.retry, scheduled: keys.scheduled, dead: keys.dead))
    guard let parts = value.array, parts.count == 3, let place = parts[0].string.flatMap(DueLocator.Place.init),
      let score = parts[1].string, let element = parts[2].bytes
    else { return nil }
    let time = SortedPosition.milliseconds(score)
    switch place {
    case .retry: return JobLocation(id: id, place: .retry(due: time), queue: keys.queue, element: element)
    case .scheduled:
      let isPaused = score == "\(QueueLimits.withoutDate)"
      return JobLocation(
        id: id, place: isPaused ? .paused : .scheduled(due: time), queue: keys.queue, element: element)
    case .dead:
      guard let letter = DeadLetter(bytes: element) else { return nil }
      var location = JobLocation(id: id, place: .dead(since: letter.at, reason: letter.reason))
      location.queue = keys.queue
      location.envelope = letter.envelope
      return location
    }
  }

  // MARK: - Lists

  private func inFlight(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> JobLocation? {
    let workers = try await connection.send(keys.namesOfWorkers).array ?? []
    for worker in workers.compactMap(\.string) {
      let look = try await look(for: id, in: keys.inflight(worker), from: .last) { $0 }
      if let element = look.found?.element {
        return JobLocation(id: id, place: .inFlight(worker: worker), queue: keys.queue, element: element)
      }
    }
    return nil
  }

  /// Also returns whether the whole queue was searched.
  private func waiting(
    _ id: String, _ keys: QueueKeys
  ) async throws(RedisError) -> (found: JobLocation?, isWhole: Bool) {
    let seal = try await connection.send(RedisCommand("GET", keys.seal)).string ?? ""
    // A producer's element has no envelope, even if it looks like one.
    func element(_ bytes: [UInt8]) -> [UInt8] {
      Seal.unsealed(bytes, seal: seal) ?? (bytes.starts(with: Envelope.marker) ? [] : bytes)
    }
    func location(_ element: [UInt8], _ place: Int, _ length: Int) -> JobLocation {
      let place = JobLocation.Place.waiting(place: place, of: length)
      return JobLocation(id: id, place: place, queue: keys.queue, element: element)
    }
    let front = try await look(for: id, in: keys.queue, from: .last, element)
    if let found = front.found { return (location(found.element, found.index, front.length), true) }
    if front.read >= front.length { return (nil, true) }
    let back = try await look(for: id, in: keys.queue, from: .first, element)
    if let found = back.found {
      return (location(found.element, max(0, back.length - 1 - found.index), back.length), true)
    }
    // Jobs leave and join the queue between the two.
    return (nil, front.read + back.read - FleetQueues.lookOverlap >= back.length)
  }

  private struct Look {
    var length = 0
    /// Elements that were searched.
    var read = 0
    var found: (index: Int, element: [UInt8])?
  }

  /// Searches a list from one end. `element` returns the envelope and the job of what is in the list.
  private func look(
    for id: String, in list: String, from end: BoundedRead.End, _ element: ([UInt8]) -> [UInt8]
  ) async throws(RedisError) -> Look {
    let read = BoundedRead(
      key: list, isList: true, end: end, most: FleetQueues.lookElements, needles: (Array(id.utf8), []),
      otherBytes: FleetQueues.envelopeBytes)
    do {
      let length = try await connection.send(RedisCommand("LLEN", list)).count ?? 0
      let elements = try await read.send(to: connection).elements
      var look = Look(length: length, read: elements.count)
      for (index, read) in elements.enumerated() where look.found == nil {
        let element = element(read.bytes)
        if FleetQueues.names(id, element) { look.found = (index, element) }
      }
      return look
    } catch  where error.isWrongType {
      return Look()
    }
  }

  /// Whether an element, or its envelope alone, is the job with this id.
  nonisolated private static func names(_ id: String, _ element: [UInt8]) -> Bool {
    let envelope = Envelope(element: element)
    if let own = Job.salvagedID(from: envelope.job) { return own == id }
    let head = String(decoding: element.prefix(128), as: UTF8.self).split(separator: " ", maxSplits: 4)
    guard head.count >= 4, head[0] == "MARTLET1" else { return false }
    return JobID.derived(nonce: String(head[3])) == id
  }

  // MARK: - Broadcasts
  //
  // The latest broadcasts of a fleet: lists, pauses and resumes them. ``FleetQueues/cancel(_:)`` cancels them.
  //
  // `Registry` reports the size of an audience and the position of a cursor in it.

  /// The result of a request to pause a broadcast.
  public enum Pausing: Sendable, Equatable {
    /// It is paused, or will be after its current pages or when a worker takes it.
    case paused
    /// It has ended.
    case ended
    /// No queue knows a broadcast with the id.
    case unknown
    /// ``maximumPausedBroadcasts`` are paused.
    case tooMany
  }

  /// Paused broadcasts of a queue at most.
  public nonisolated static let maximumPausedBroadcasts = 1000

  // MARK: - Reading

  /// Returns the latest broadcasts of all queues, those that changed last first.
  public func broadcasts(limit: Int = 100) async throws(RedisError) -> [BroadcastStatus] {
    var found: [BroadcastStatus] = []
    for keys in keys {
      var command = RedisCommand("ZRANGE", keys.broadcasts, "0")
      command.append(max(0, min(limit, QueueLimits.knownBroadcasts) - 1))
      command.append("REV" as StaticString)
      let ids = try await connection.send(command).array ?? []
      for id in ids.compactMap(\.string) {
        if let status = try await status(id, keys) { found.append(status) }
      }
    }
    return Array(found.sorted { $0.entry.changedAt > $1.entry.changedAt }.prefix(limit))
  }

  /// Returns a broadcast; nil if it is unknown.
  public func broadcast(_ id: String) async throws(RedisError) -> BroadcastStatus? {
    for keys in keys {
      if let status = try await status(id, keys) { return status }
    }
    return nil
  }

  private func status(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> BroadcastStatus? {
    guard let entry = try await entry(id, keys) else { return nil }
    var status = BroadcastStatus(entry: entry)
    if let held = try await connection.send(RedisCommand("HGET", keys.pauses, id)).contents {
      status.pause = QueuePause(json: held)
      // It may not have stopped yet.
      if entry.state == .waiting { status.entry.state = .paused }
    }
    if let state = try await progress(of: entry, keys) {
      status.cursor = state.cursor
      status.accepted = state.result?.accepted ?? 0
      status.failed = state.result?.failed ?? 0
    }
    return status
  }

  /// The progress at the last committed page. It is read from the element if the broadcast is paused or waits for its next
  /// attempt, and from the record if it has ended.
  private func progress(of entry: BroadcastEntry, _ keys: QueueKeys) async throws(RedisError) -> AttemptState? {
    let stored = try await connection.send(RedisCommand("GET", keys.progress(entry.nonce))).contents
    if let stored, let line = stored.firstIndex(of: UInt8(ascii: "\n")) {
      return AttemptState(json: Array(stored[(line + 1)...]))
    }
    switch entry.state {
    case .waiting, .running, .paused:
      let due = try await due(entry.id, keys)
      return due?.envelope.map { AttemptState(json: $0.state) }
    case .finished, .cancelled:
      let record = try await connection.send(RedisCommand("GET", QueueKeys.result(entry.id))).contents
      var state = AttemptState()
      state.result = record.flatMap(JobResult.init(parsing:))
      return state
    }
  }

  // MARK: - Acting

  /// Pauses a broadcast after its current pages. Its progress is kept, and other jobs are not delayed.
  public func pause(broadcast id: String, by operatorName: String) async throws(RedisError) -> Pausing {
    guard Job.isID(id), let (keys, entry) = try await findBroadcast(id) else { return .unknown }
    guard entry.state != .finished, entry.state != .cancelled else { return .ended }
    let pause = QueuePause(since: Clock.unixMilliseconds, by: operatorName, reason: "")
    let answer = try await connection.send(
      OperationsScripts.pauseBroadcast(
        control: keys.control, pauses: keys.pauses, broadcast: keys.broadcast(id), id: id, reason: pause.json(),
        most: FleetQueues.maximumPausedBroadcasts))
    switch answer.integer {
    case 1: return .paused
    case -1: return .ended
    default: return .tooMany
    }
  }

  /// Lets a paused broadcast continue after its last page. Returns false if it was not paused.
  public func resume(broadcast id: String) async throws(RedisError) -> Bool {
    var wasPaused = false
    for keys in keys {
      let answer = try await connection.send(
        OperationsScripts.resumeBroadcast(
          control: keys.control, pauses: keys.pauses, due: keys.due(id), scheduled: keys.scheduled, queue: keys.queue,
          seal: keys.seal, cancelled: keys.cancelled, id: id, word: Seal.random()))
      if answer.integer == 1 { wasPaused = true }
    }
    return wasPaused
  }

  private func findBroadcast(_ id: String) async throws(RedisError) -> (QueueKeys, BroadcastEntry)? {
    for keys in keys {
      if let entry = try await entry(id, keys) { return (keys, entry) }
    }
    return nil
  }

  /// Returns a broadcast of a queue; nil if it is unknown there.
  func entry(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> BroadcastEntry? {
    let bytes = try await connection.send(RedisCommand("GET", keys.broadcast(id))).contents
    return bytes.flatMap { BroadcastEntry(json: $0, queue: keys.queue) }
  }
}

extension JobLocation {
  /// Whether the job is kept for later, where it is ended at once.
  fileprivate var isKept: Bool {
    switch place {
    case .retry, .scheduled, .paused: true
    case .waiting, .inFlight, .dead, .ended, .unknown: false
    }
  }
}

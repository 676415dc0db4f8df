import Jobs
import Queue
public import Redis

/// Finds jobs by their ids, in bounded time for queues of any length.
///
/// A job in `retry`, `scheduled` or `dead` has a locator. The lists in flight are searched whole, because they are short. Of a
/// queue, ``lookElements`` elements are searched at each end, fewer if they are large.
extension FleetQueues {
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
}

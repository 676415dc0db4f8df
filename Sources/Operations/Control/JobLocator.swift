public import EventLoop
import Jobs
import Queue
public import Redis

/// Finds jobs by their ids, in bounded time for queues of any length.
///
/// A job in `retry`, `scheduled` or `dead` has a locator. The lists in flight are searched whole, because they are short. Of a
/// queue, ``QueueLimits/lookElements`` elements are searched at each end, fewer if they are large.
@EventLoop
public struct JobLocator {
  private let queues: [QueueKeys]
  private let connection: RedisClient

  public init(queues: [String], connection: RedisClient) {
    self.queues = queues.map(QueueKeys.init(queue:))
    self.connection = connection
  }

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
    for keys in queues {
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
      JobLocator.findDue(due: keys.due(id), retry: keys.retry, scheduled: keys.scheduled, dead: keys.dead))
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
      let look = try await look(for: id, in: keys.inflight(worker), keys, from: 0, isSealed: false)
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
    var look = try await look(for: id, in: keys.queue, keys, from: 0, isSealed: true)
    var isWhole = look.read >= look.length
    if look.found == nil, !isWhole {
      let next = look.read - min(QueueLimits.lookOverlap, look.read / 2)
      let start = max(next, look.length - QueueLimits.lookElements)
      look = try await self.look(for: id, in: keys.queue, keys, from: start, isSealed: true)
      isWhole = start == next && start + look.read >= look.length
    }
    guard let found = look.found else { return (nil, isWhole) }
    let place = JobLocation.Place.waiting(place: found.place, of: look.length)
    return (JobLocation(id: id, place: place, queue: keys.queue, element: found.element), isWhole)
  }

  private struct Look {
    var length = 0
    /// Elements that were searched.
    var read = 0
    var found: (place: Int, element: [UInt8])?
  }

  /// Searches a list. `isSealed`: producers write to it, too.
  private func look(
    for id: String, in list: String, _ keys: QueueKeys, from start: Int, isSealed: Bool
  ) async throws(RedisError) -> Look {
    let value: RedisValue
    do {
      value = try await connection.send(
        JobLocator.look(
          list: list, seal: keys.seal, id: id, first: start, most: QueueLimits.lookElements,
          limit: QueueLimits.lookBytes, sealed: isSealed ? 1 : 0))
    } catch let error where error.isWrongType {
      return Look()
    }
    guard let parts = value.array, parts.count == 4 else { return Look() }
    var look = Look(length: parts[0].count ?? 0, read: parts[1].count ?? 0)
    let candidates = (parts[2].array ?? []) + (parts[3].array ?? [])
    for candidate in candidates {
      guard let pair = candidate.array, pair.count == 2, let place = pair[0].count, let element = pair[1].bytes,
        JobLocator.names(id, element)
      else { continue }
      look.found = (place, element)
      break
    }
    return look
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

extension JobLocator {
  /// Finds a retried, scheduled or dead job. Returns {letter, score, element}, or false.
  static let findDue = RedisScript(
    keys: ["due", "retry", "scheduled", "dead"],
    """
    \(ControlScripts.locating)
    local letter, score, element = locate(due, {r = retry, s = scheduled, d = dead})
    return element and {letter, score, element} or false
    """)

  /// Lists the elements of a list that may be the job with an id: those that contain the id, whole, and the envelopes of
  /// those that name no id.
  ///
  /// - `first`, `most`, `limit`: the first place, counted from the right, places at most, and bytes after which no further
  ///   element is read.
  /// - `sealed`: 1 if only elements with the seal have an envelope.
  ///
  /// Returns {length of the list, places read, [[place, element]…], [[place, envelope]…]}.
  static let look = RedisScript(
    keys: ["list", "seal"], arguments: ["id", "first", "most", "limit", "sealed"],
    """
    local length, word = redis.call('LLEN', list), redis.call('MGET', seal)[1] or ''
    local marker = '\(Seal.marker)' .. word .. ' '
    local place, bytes, read, chunk, largest = tonumber(first), 0, 0, \(QueueLimits.firstLookChunk), 1
    local whole, nameless = {}, {}
    most, limit = tonumber(most), tonumber(limit)
    while place < length and read < most and bytes < limit do
      local some = redis.call('LRANGE', list, -place - math.min(chunk, most - read), -place - 1)
      for i = #some, 1, -1 do
        local element, isEnveloped = some[i], sealed ~= '1'
        bytes, largest = bytes + #element, math.max(largest, #element)
        if string.sub(element, 1, #marker) == marker then
          element, isEnveloped = string.sub(element, #marker + 1), true
        end
        if string.find(element, id, 1, true) then
          whole[#whole + 1] = {place, string.sub(element, 1, \(QueueLimits.lookElementBytes))}
        elseif isEnveloped and not string.find(element, '"id"', 1, true) then
          nameless[#nameless + 1] = {place, string.match(element, '^(MARTLET1 %d+ %d+ %S+ )') or ''}
        end
        place, read = place + 1, read + 1
      end
      -- No more than the bytes allow, by the size of those that were read.
      chunk = math.min(chunk * 2, \(QueueLimits.lookChunk), math.max(1, math.floor((limit - bytes) / largest)))
    end
    return {length, read, whole, nameless}
    """)
}

public import EventLoop
public import Queue
public import Redis

/// Reads the jobs of a queue for an operator, and changes nothing. Each call reads a bounded amount.
@EventLoop
public struct QueueBrowser {
  /// The number of jobs at either end of a list that can be read. Redis needs long to reach those further inside.
  public nonisolated static let listDepth = 1000
  /// Members that one script examines for a filter.
  private static let examinedAtOnce = 500

  /// Jobs that wait for their time.
  public enum DueSet: String, Sendable, CaseIterable {
    case retry, scheduled
  }

  /// The ends of a queue.
  public enum End: String, Sendable {
    /// Where workers take jobs.
    case front
    /// Where producers add jobs.
    case back
  }

  public let keys: QueueKeys
  private let connection: RedisClient

  public init(queue: String, connection: RedisClient) {
    keys = QueueKeys(queue: queue)
    self.connection = connection
  }

  /// Reads waiting jobs from one end of the queue, the outermost first.
  public func waiting(
    _ end: End, skipping skipped: Int = 0, limit: Int
  ) async throws(RedisError) -> [BrowsedJob] {
    let first = min(max(0, skipped), QueueBrowser.listDepth)
    let count = min(limit, QueueBrowser.listDepth - first)
    let elements = try await list(keys.queue, from: end == .front ? .last : .first, skipping: first, count: count)
    let seal = try await connection.send(RedisCommand("GET", keys.seal)).string ?? ""
    return elements.map { element in
      let own = Seal.unsealed(element.bytes, seal: seal)
      return BrowsedJob(element, own.map { Envelope(element: $0) } ?? Envelope(nonce: nil, job: element.bytes))
    }
  }

  /// Reads jobs that a worker holds, latest claim first.
  public func inFlight(of worker: String, limit: Int) async throws(RedisError) -> [BrowsedJob] {
    try await list(keys.inflight(worker), from: .first, skipping: 0, count: limit).map {
      BrowsedJob($0, Envelope(element: $0.bytes))
    }
  }

  /// Reads a page of the jobs that wait for their time, earliest due time first.
  public func due(
    _ set: DueSet, from position: SortedPosition? = nil, limit: Int
  ) async throws(RedisError) -> BrowsedPage {
    let key = set == .retry ? keys.retry : keys.scheduled
    return try await page(key, from: .first, position, examining: limit, limit: limit, filter: DeadLetterFilter()) {
      BrowsedJob($0, Envelope(element: $0.bytes), at: $1)
    }
  }

  /// Reads a page of dead letters, newest first.
  ///
  /// With a filter, it examines at most `examining` letters: the page may be short, or empty, and still have a next one.
  public func dead(
    _ filter: DeadLetterFilter = DeadLetterFilter(), from position: SortedPosition? = nil, limit: Int,
    examining: Int = 2000
  ) async throws(RedisError) -> BrowsedPage {
    var result = BrowsedPage(jobs: [], examined: 0, next: position ?? filter.start)
    repeat {
      let page = try await page(
        keys.dead, from: .last, result.next,
        examining: min(QueueBrowser.examinedAtOnce, examining - result.examined), limit: limit - result.jobs.count,
        filter: filter, BrowsedJob.init(letter:at:))
      result.jobs += page.jobs
      result.examined += page.examined
      result.next = page.next
    } while result.next != nil && result.jobs.count < limit && result.examined < examining
    return result
  }

  /// One element more than necessary is read, to know whether there is a next page.
  private func page(
    _ key: String, from end: BoundedRead.End, _ start: SortedPosition?, examining: Int, limit: Int,
    filter: DeadLetterFilter, _ job: (BoundedRead.Element, SortedPosition?) -> BrowsedJob
  ) async throws(RedisError) -> BrowsedPage {
    let read = BoundedRead(
      key: key, isList: false, end: end, skip: start?.skip ?? 0, score: start?.score, most: examining + 1,
      wanted: limit + 1, needles: filter.needles)
    let (elements, isComplete) = try await found(read)
    var walk = PageWalk(start: start, since: filter.since)
    var page = BrowsedPage(jobs: [], examined: 0, next: nil)
    for element in elements.prefix(examining) where page.jobs.count < limit {
      guard walk.examine(score: element.score, isTaken: false) else { return page }
      page.examined += 1
      guard !element.bytes.isEmpty else { continue }
      let found = job(element, walk.position?.preceding)
      if filter.includes(found) { page.jobs.append(found) }
    }
    if !isComplete || page.examined < elements.count { page.next = walk.position }
    return page
  }

  private func list(
    _ key: String, from end: BoundedRead.End, skipping skipped: Int, count: Int
  ) async throws(RedisError) -> [BoundedRead.Element] {
    try await found(BoundedRead(key: key, isList: true, end: end, skip: skipped, most: count)).elements
  }

  /// Another program's key is empty.
  private func found(
    _ read: BoundedRead
  ) async throws(RedisError) -> (elements: [BoundedRead.Element], isComplete: Bool) {
    do {
      return try await read.send(to: connection)
    } catch  where error.isWrongType {
      return ([], true)
    }
  }
}

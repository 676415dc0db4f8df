public import EventLoop
import Jobs
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
    guard count > 0 else { return [] }
    guard end == .front else { return try await list(keys.queue, from: first, count: count, source: "queue") }
    let length = try await connection.send(RedisCommand("LLEN", keys.queue)).count ?? 0
    let present = min(count, max(0, length - first))
    guard present > 0 else { return [] }
    return try await list(keys.queue, from: -first - present, count: present, source: "queue").reversed()
  }

  /// Reads jobs that a worker holds, latest claim first.
  public func inFlight(of worker: String, limit: Int) async throws(RedisError) -> [BrowsedJob] {
    try await list(keys.inflight(worker), from: 0, count: limit, source: "inflight")
  }

  /// Reads a page of the jobs that wait for their time, earliest due time first.
  public func due(
    _ set: DueSet, from position: SortedPosition? = nil, limit: Int
  ) async throws(RedisError) -> BrowsedPage {
    let key = set == .retry ? keys.retry : keys.scheduled
    return try await page(key, order: "due", from: position, examining: limit, limit: limit, filter: DeadLetterFilter())
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
      var page = try await page(
        keys.dead, order: "dead", from: result.next,
        examining: min(QueueBrowser.examinedAtOnce, examining - result.examined), limit: limit - result.jobs.count,
        filter: filter)
      page.jobs.removeAll { !filter.includes($0) }
      result.jobs += page.jobs
      result.examined += page.examined
      result.next = page.next
    } while result.next != nil && result.jobs.count < limit && result.examined < examining
    return result
  }

  private func page(
    _ key: String, order: String, from position: SortedPosition?, examining: Int, limit: Int, filter: DeadLetterFilter
  ) async throws(RedisError) -> BrowsedPage {
    do {
      return BrowsedPage(
        try await connection.send(
          BrowsingScripts.browseSet(
            set: key, order: order, score: position?.score ?? "", skip: position?.skip ?? 0, examining: examining,
            wanted: limit, bound: filter.since.map { String($0) } ?? "", reason: filter.reasonNeedle,
            text: filter.appNeedle, most: Job.maximumBytes)))
    } catch  where error.isWrongType {
      // Another program's key.
      return .empty
    }
  }

  private func list(
    _ key: String, from index: Int, count: Int, source: String
  ) async throws(RedisError) -> [BrowsedJob] {
    do {
      let value = try await connection.send(
        BrowsingScripts.browseList(
          list: key, seal: keys.seal, first: index, count: count, source: source, most: Job.maximumBytes))
      return (value.array ?? []).compactMap(BrowsedJob.init)
    } catch  where error.isWrongType {
      return []
    }
  }
}

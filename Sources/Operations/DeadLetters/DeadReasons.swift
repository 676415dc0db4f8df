import EventLoop
public import Jobs
import Queue
public import Redis

/// The reasons of the newest dead letters of a queue.
public struct DeadReasons: Sendable, Equatable {
  /// Letters that were examined.
  public private(set) var examined = 0
  /// The most frequent first.
  public private(set) var entries: [ReasonCount] = []
  /// Letters of further reasons.
  public private(set) var others = 0

  /// Letters that one script examines.
  private static let examinedAtOnce = 500
  /// Reasons that are listed. Hostile jobs could give each letter another one.
  private static let maximumEntries = 20

  public init() {}

  /// Letters that were counted. With a filter by app, also those that name it elsewhere.
  public var matched: Int { entries.reduce(others) { $0 + $1.count } }

  /// Examines the newest letters of a queue, at most `limit`, and counts those that match.
  @EventLoop
  public static func read(
    _ queue: String, _ filter: DeadLetterFilter = DeadLetterFilter(), newest limit: Int, from connection: RedisClient
  ) async throws(RedisError) -> DeadReasons {
    var reasons = DeadReasons()
    var isOver = false
    while !isOver, reasons.examined < limit {
      let read = BoundedRead(
        key: QueueKeys(queue: queue).dead, isList: false, end: .last, skip: reasons.examined,
        score: filter.start?.score, most: min(examinedAtOnce, limit - reasons.examined), needles: filter.needles,
        isFirstLine: true)
      do {
        let (letters, isComplete) = try await read.send(to: connection)
        var walk = PageWalk(start: nil, since: filter.since)
        let young = letters.prefix { walk.examine(score: $0.score, isTaken: false) }
        for letter in young where !letter.bytes.isEmpty { reasons.add(letter.bytes, filter) }
        reasons.examined += young.count
        isOver = isComplete || walk.isOver
      } catch  where error.isWrongType {
        break
      }
    }
    reasons.shorten()
    return reasons
  }

  /// Adds those of another queue.
  public mutating func add(_ other: DeadReasons) {
    examined += other.examined
    others += other.others
    for entry in other.entries { entries.count(entry.reason, by: entry.count, maximum: .max) }
    shorten()
  }

  /// Adds the letter with this first line.
  private mutating func add(_ line: [UInt8], _ filter: DeadLetterFilter) {
    let reason = BrowsedJob.Burial(line: line)?.reason
    if let wanted = filter.reason, reason?.contains(wanted) != true { return }
    if let reason { entries.count(reason, by: 1, maximum: .max) } else { others += 1 }
  }

  private mutating func shorten() {
    entries.sort { $0.count != $1.count ? $0.count > $1.count : $0.reason < $1.reason }
    for entry in entries.dropFirst(DeadReasons.maximumEntries) { others += entry.count }
    entries = Array(entries.prefix(DeadReasons.maximumEntries))
  }
}

import EventLoop
import JSON
import Queue
public import Redis

/// The reasons of the newest dead letters of a queue.
public struct DeadReasons: Sendable, Equatable {
  public struct Entry: Sendable, Equatable {
    public let reason: String
    public var count: Int
  }

  /// Letters that were examined.
  public private(set) var examined = 0
  /// The most frequent first.
  public private(set) var entries: [Entry] = []
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
    while reasons.examined < limit {
      let asked = min(examinedAtOnce, limit - reasons.examined)
      let before = reasons.examined
      do {
        let answer = try await connection.send(
          BrowsingScripts.countReasons(
            dead: QueueKeys(queue: queue).dead, before: before, most: asked,
            newest: filter.until.map { String($0) } ?? "", oldest: filter.since.map { String($0) } ?? "",
            needle: filter.reasonNeedle, text: filter.appNeedle))
        reasons.add(answer.array ?? [])
      } catch  where error.isWrongType {
        break
      }
      if reasons.examined == before { break }
    }
    reasons.shorten()
    return reasons
  }

  /// Adds those of another queue.
  public mutating func add(_ other: DeadReasons) {
    examined += other.examined
    others += other.others
    for entry in other.entries { add(entry.reason, entry.count) }
    shorten()
  }

  private mutating func add(_ answer: [RedisValue]) {
    guard let examined = answer.first?.count else { return }
    self.examined += examined
    for index in stride(from: 1, to: answer.count - 1, by: 2) {
      let count = answer[index + 1].count ?? 0
      guard let escaped = answer[index].contents,
        let reason = try? JSONValue(parsing: [UInt8(ascii: "\"")] + escaped + [UInt8(ascii: "\"")]).string
      else {
        others += count
        continue
      }
      add(reason, count)
    }
  }

  private mutating func add(_ reason: String, _ count: Int) {
    guard let index = entries.firstIndex(where: { $0.reason == reason }) else {
      return entries.append(Entry(reason: reason, count: count))
    }
    entries[index].count += count
  }

  private mutating func shorten() {
    entries.sort { $0.count != $1.count ? $0.count > $1.count : $0.reason < $1.reason }
    for entry in entries.dropFirst(DeadReasons.maximumEntries) { others += entry.count }
    entries = Array(entries.prefix(DeadReasons.maximumEntries))
  }
}

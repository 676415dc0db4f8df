import EventLoop
import JSON
public import Redis

/// A part of the stream of events, and what is known of the whole.
public struct EventPage: Sendable, Equatable {
  /// The id before the first.
  public static let beginning = "0-0"

  /// An entry of the stream.
  public struct Entry: Sendable, Equatable {
    public let id: String
    /// JSON as it was written; empty if the entry has none, or one that is too large.
    public let event: [UInt8]
  }

  public var entries: [Entry]
  /// Entries of the whole stream.
  public var length: Int64
  /// The id of the first entry of the whole stream; nil if it is empty.
  public var firstID: String?
  /// The greatest id that the stream has ever had.
  public var lastID: String
  /// How many entries were ever written; nil before Redis 7.
  public var total: Int64?

  /// Whether the entry `id` is behind the entry `other`.
  public static func isBehind(_ id: String, _ other: String) -> Bool {
    (StreamID(parsing: id) ?? .start) > (StreamID(parsing: other) ?? .start)
  }
}

extension EventPage {
  /// Maximum entries of a page.
  public static let maximumCount = 100
  /// Maximum bytes of the events of a page together, and of one event.
  public static let maximumBytes = 262_144

  /// Reads the entries behind `cursor`, up to and with `last`.
  @EventLoop
  public static func read(
    after cursor: String, through last: String?, from connection: RedisClient,
    _ completion: @escaping @EventLoop (Result<EventPage, RedisError>) -> Void
  ) {
    let call = EventScripts.page(
      stream: EventStream.key, after: cursor, last: last ?? "+", most: maximumCount, limit: maximumBytes)
    connection.send(call) { result in
      completion(
        result.flatMap { value in
          EventPage(value).map(Result.success)
            ?? .failure(.outcomeUnknown("Redis sent an unexpected reply for \(EventStream.key)"))
        })
    }
  }

  private init?(_ reply: RedisValue) {
    guard let parts = reply.array, parts.count >= 4, let length = parts[0].integer(in: NumberRange.counts),
      let first = parts[1].string,
      let last = parts[2].string, let total = parts[3].integer
    else { return nil }
    self.init(
      entries: parts.dropFirst(4).compactMap { part in
        guard let pair = part.array, pair.count == 2, let id = pair[0].string, let event = pair[1].bytes else {
          return nil
        }
        return Entry(id: id, event: event)
      }, length: length, firstID: first.isEmpty ? nil : first, lastID: last, total: total < 0 ? nil : total)
  }
}

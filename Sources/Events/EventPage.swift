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
    let call = script(
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

  /// - `after`, `last`: the id before the first entry, and the last id, or `+`.
  /// - `most`, `limit`: entries at most, and bytes of their events at most, and of one event.
  ///
  /// Returns {length, first id or empty, last id, number of entries ever written or -1, {id, event}…}.
  public static let script = RedisScript(
    keys: ["stream"], arguments: ["after", "last", "most", "limit"],
    """
    local kind = redis.call('TYPE', stream).ok
    if kind == 'none' then return {0, '', '0-0', -1} end
    if kind ~= 'stream' then return redis.error_reply('WRONGTYPE ' .. stream .. ' is not a stream') end
    local info, known = redis.call('XINFO', 'STREAM', stream), {}
    limit = tonumber(limit)
    for i = 1, #info, 2 do known[info[i]] = info[i + 1] end
    local first = known['first-entry']
    local page = {known['length'], first and first[1] or '', known['last-generated-id'], known['entries-added'] or -1}
    local bytes = 0
    for _, entry in ipairs(redis.call('XRANGE', stream, '(' .. after, last, 'COUNT', most)) do
      local event = ''
      for i = 1, #entry[2], 2 do if entry[2][i] == 'event' then event = entry[2][i + 1] end end
      if #event > limit then event = '' end
      bytes = bytes + #event
      if bytes > limit and page[5] then break end
      page[#page + 1] = {entry[1], event}
    end
    return page
    """)
}

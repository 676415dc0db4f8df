public import EventLoop
import JSON
public import Redis

/// Reads what the workers wrote down for users and instances who poll.
@EventLoop
public struct NotificationLog {
  /// Records of one page: what a reader holds in memory, and what Redis sends at once. One larger record is a page of its own.
  public static let maximumPageBytes = 256 * 1024

  /// Entries that Redis reads at once; each may hold a job.
  private static let step = 8

  /// KEYS
  ///   1  the stream
  /// ARGV
  ///   1  the id before the first entry
  ///   2  entries at most
  ///   3  bytes of records at most, beyond the first
  ///   4  entries to read at once
  /// Returns {1 when there is more, {{id, record}…}}; the record of an entry without one is empty.
  private static let read = RedisScript(
    """
    local limit, maximum, step = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
    local page, bytes, start = {}, 0, '(' .. ARGV[1]
    while true do
      local entries = redis.call('XRANGE', KEYS[1], start, '+', 'COUNT', step)
      for _, entry in ipairs(entries) do
        local fields, record = entry[2], ''
        for place = 1, #fields - 1, 2 do
          if fields[place] == 'notification' then
            record = fields[place + 1]
            break
          end
        end
        if #page == limit or (#page > 0 and bytes + #record > maximum) then return {1, page} end
        bytes = bytes + #record
        page[#page + 1] = {entry[1], record}
        start = '(' .. entry[1]
      end
      if #entries < step then return {0, page} end
    end
    """)

  private let connection: RedisConnection

  public init(connection: RedisConnection) {
    self.connection = connection
    connection.preload([NotificationLog.read])
  }

  /// Records of a user behind `start`: at most `limit`, and at most ``maximumPageBytes``.
  public func page(of username: String, after start: StreamID, limit: Int) async throws(RedisError) -> NotificationPage
  {
    try await page(QueueKeys.notifications(username), start, limit)
  }

  /// The same of an instance.
  public func page(
    ofInstance id: String, after start: StreamID, limit: Int
  ) async throws(RedisError) -> NotificationPage {
    try await page(QueueKeys.instanceNotifications(id), start, limit)
  }

  /// What others wrote into the stream and is no JSON object is left out.
  private func page(_ key: String, _ start: StreamID, _ limit: Int) async throws(RedisError) -> NotificationPage {
    let reply =
      try await connection.call(
        NotificationLog.read, keys: [key],
        arguments: { command in
          command.append(start.text)
          command.append(limit)
          command.append(NotificationLog.maximumPageBytes)
          command.append(NotificationLog.step)
        }
      ).array ?? []
    var entries: [NotificationPage.Entry] = []
    var last: StreamID?
    for value in reply.dropFirst().first?.array ?? [] {
      guard let parts = value.array, parts.count == 2, let id = parts[0].string.flatMap(StreamID.init(parsing:)) else {
        continue
      }
      last = id
      if let record = parts[1].bytes.flatMap(NotificationLog.record) {
        entries.append(NotificationPage.Entry(id: id, record: record))
      }
    }
    return NotificationPage(entries: entries, last: last, hasMore: reply.first?.integer == 1)
  }

  private static func record(_ bytes: [UInt8]) -> JSONValue? {
    do {
      let value = try JSONValue(parsing: bytes)
      return value.members == nil ? nil : value
    } catch {
      return nil
    }
  }
}

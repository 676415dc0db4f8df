public import EventLoop
public import JSON
public import Redis

/// Reads the notification records of users and instances, for polling.
@EventLoop
public struct NotificationLog {
  /// Bytes of records in one page at most. A larger record is the only one of its page.
  public static let maximumPageBytes = 256 * 1024

  /// Entries that the script reads at once; each may contain a whole job.
  private static let step = 8

  /// - `after`: the id before the first entry.
  /// - `most`, `limit`: entries at most, and bytes of records at most, beyond the first.
  /// - `step`: entries to read at once.
  ///
  /// Returns {1 when there is more, {{id, record}…}}; the record of an entry without one is empty.
  private static let read = RedisScript(
    keys: ["stream"], arguments: ["after", "most", "limit", "step"],
    """
    local page, bytes, start = {}, 0, '(' .. after
    most, limit, step = tonumber(most), tonumber(limit), tonumber(step)
    while true do
      local entries = redis.call('XRANGE', stream, start, '+', 'COUNT', step)
      for _, entry in ipairs(entries) do
        local fields, record = entry[2], ''
        for place = 1, #fields - 1, 2 do
          if fields[place] == 'notification' then
            record = fields[place + 1]
            break
          end
        end
        if #page == most or (#page > 0 and bytes + #record > limit) then return {1, page} end
        bytes = bytes + #record
        page[#page + 1] = {entry[1], record}
        start = '(' .. entry[1]
      end
      if #entries < step then return {0, page} end
    end
    """)

  private let connection: RedisClient

  public init(connection: RedisClient) {
    self.connection = connection
    connection.preload([NotificationLog.read])
  }

  /// Returns the records of a user after `start`: at most `limit`, and at most ``maximumPageBytes``.
  public func page(of username: String, after start: StreamID, limit: Int) async throws(RedisError) -> NotificationPage
  {
    try await page(QueueKeys.notifications(username), start, limit)
  }

  /// Returns the records of an instance after `start`.
  public func page(
    ofInstance id: String, after start: StreamID, limit: Int
  ) async throws(RedisError) -> NotificationPage {
    try await page(QueueKeys.instanceNotifications(id), start, limit)
  }

  /// Leaves out entries that are not JSON objects; another program wrote them.
  private func page(_ key: String, _ start: StreamID, _ limit: Int) async throws(RedisError) -> NotificationPage {
    let reply =
      try await connection.send(
        NotificationLog.read(
          stream: key, after: start.text, most: limit, limit: NotificationLog.maximumPageBytes,
          step: NotificationLog.step)
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

/// Consecutive notification records of a user or an instance, oldest first.
public struct NotificationPage: Sendable, Equatable {
  public struct Entry: Sendable, Equatable {
    public let id: StreamID
    /// A JSON object.
    public let record: JSONValue
  }

  public let entries: [Entry]
  /// The last entry that was read, whether or not it is in ``entries``; nil if there was none.
  public let last: StreamID?
  /// Whether there are entries after ``last``.
  public let hasMore: Bool
}

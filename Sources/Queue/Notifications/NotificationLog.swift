public import EventLoop
public import JSON
public import PushModel
public import Redis

/// Reads the notification records of users and instances, for polling.
@EventLoop
public struct NotificationLog {
  /// Bytes of records in one page at most. A larger record is the only one of its page.
  public static let maximumPageBytes = 256 * 1024

  /// Entries that are read at once; each may contain a whole job.
  private static let step = 16

  private let connection: RedisClient

  public init(connection: RedisClient) {
    self.connection = connection
  }

  /// Returns the records of a user after `start`: at most `limit`, and at most ``maximumPageBytes``; also those under another form of
  /// the name, as workers of 2.0.0 have written them.
  public func page(of username: Username, after start: StreamID, limit: Int) async throws(RedisError)
    -> NotificationPage
  {
    let own = try await page(QueueKeys.notifications(username), start, limit)
    guard let form = username.decomposed else { return own }
    return own.merged(with: try await page(QueueKeys.notifications(form: form.text), start, limit), limit: limit)
  }

  /// Returns the records of an instance after `start`.
  public func page(
    ofInstance id: String, after start: StreamID, limit: Int
  ) async throws(RedisError) -> NotificationPage {
    try await page(QueueKeys.instanceNotifications(id), start, limit)
  }

  /// Leaves out entries that are not JSON objects; another program wrote them.
  private func page(_ key: String, _ start: StreamID, _ limit: Int) async throws(RedisError) -> NotificationPage {
    var entries: [NotificationPage.Entry] = []
    var (read, bytes) = (0, 0)
    var last: StreamID?
    while true {
      let command = RedisCommand(
        "XRANGE", key, "(" + (last ?? start).text, "+", "COUNT", "\(NotificationLog.step)")
      let found = try await connection.send(command).array ?? []
      for entry in found {
        guard let (id, record) = NotificationLog.entry(entry) else { continue }
        bytes += record.count
        if read == limit || (read > 0 && bytes > NotificationLog.maximumPageBytes) {
          return NotificationPage(entries: entries, last: last, hasMore: true)
        }
        read += 1
        last = id
        if let record = NotificationLog.record(record) { entries.append(.init(id: id, record: record)) }
      }
      if found.count < NotificationLog.step { return NotificationPage(entries: entries, last: last, hasMore: false) }
    }
  }

  /// The record of an entry without one is empty.
  private static func entry(_ value: RedisValue) -> (id: StreamID, record: [UInt8])? {
    guard let parts = value.array, parts.count == 2, let id = parts[0].string.flatMap(StreamID.init(parsing:)) else {
      return nil
    }
    let fields = parts[1].array ?? []
    let place = stride(from: 0, to: fields.count - 1, by: 2).first { fields[$0].string == "notification" }
    return (id, place.flatMap { fields[$0 + 1].bytes } ?? [])
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

  /// Up to `limit` of the entries of two pages of different streams that begin after the same entry.
  func merged(with other: NotificationPage, limit: Int) -> NotificationPage {
    guard let otherLast = other.last else { return self }
    guard let last else { return other }
    // After the end of a page that has more, nothing is known of its stream.
    let ends = [hasMore ? last : nil, other.hasMore ? otherLast : nil].compactMap { $0 }
    let known = ends.min() ?? max(last, otherLast)
    let all = (entries + other.entries).filter { $0.id <= known }.sorted { $0.id < $1.id }
    // Entries of one id are on one page, because the next begins after it.
    let cut = all.count > limit ? all[limit - 1].id : known
    let chosen = all.filter { $0.id <= cut }
    return NotificationPage(entries: chosen, last: cut, hasMore: !ends.isEmpty || chosen.count < all.count)
  }
}

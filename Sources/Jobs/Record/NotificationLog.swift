public import EventLoop
import JSON
public import Redis

/// Reads what the workers wrote down for users who poll.
@EventLoop
public struct NotificationLog {
  private let connection: RedisConnection

  public init(connection: RedisConnection) {
    self.connection = connection
  }

  /// At most `limit` records behind `start`. What others wrote into the stream and is no JSON object is left out.
  public func page(of username: String, after start: StreamID, limit: Int) async throws(RedisError) -> NotificationPage
  {
    var command = RedisCommand("XRANGE", QueueKeys.notifications(username), "(" + start.text, "+", "COUNT")
    command.append(limit + 1)
    let found = try await connection.send(command).array ?? []
    var entries: [NotificationPage.Entry] = []
    var last: StreamID?
    for value in found.prefix(limit) {
      guard let parts = value.array, parts.count == 2, let id = parts[0].string.flatMap(StreamID.init(parsing:)) else {
        continue
      }
      last = id
      if let record = NotificationLog.record(parts[1].array ?? []) {
        entries.append(NotificationPage.Entry(id: id, record: record))
      }
    }
    return NotificationPage(entries: entries, last: last, hasMore: found.count > limit)
  }

  /// The object under ``field``; `fields` are names and values in turn.
  private static func record(_ fields: [RedisValue]) -> JSONValue? {
    for index in stride(from: 0, to: fields.count - 1, by: 2) where fields[index].string == field {
      guard let bytes = fields[index + 1].bytes else { return nil }
      do {
        let value = try JSONValue(parsing: bytes)
        return value.members == nil ? nil : value
      } catch {
        return nil
      }
    }
    return nil
  }

  private static let field = "notification"
}

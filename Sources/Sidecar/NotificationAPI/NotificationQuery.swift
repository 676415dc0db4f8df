import Crypto
import HTTPServer
import JSON
import Redis

/// The position in a stream of notification records, and the size of a page.
struct NotificationQuery: Equatable {
  static let defaultLimit = 50
  static let limits = 1...200

  private static let invalidCursor = Refusal.invalid("cursor", "Invalid cursor")
  private static let invalidLimit = Refusal.invalid(
    "limit", "Limit must be an integer between \(limits.lowerBound) and \(limits.upperBound)")

  let since: NotificationCursor
  let limit: Int

  /// Reads the items of a query. Without a cursor, or with an empty one, the page begins with the oldest record.
  ///
  /// - Parameter cursorName: the name of the cursor's item.
  init(_ items: [(name: String, value: String)], cursor cursorName: String) throws(Refusal) {
    let cursors = items.filter { $0.name == cursorName }.map(\.value)
    let limits = items.filter { $0.name == "limit" }.map(\.value)
    guard cursors.count <= 1 else { throw NotificationQuery.invalidCursor }
    guard limits.count <= 1 else { throw NotificationQuery.invalidLimit }
    if let cursor = cursors.first, !cursor.isEmpty {
      guard let since = NotificationCursor(parsing: cursor) else { throw NotificationQuery.invalidCursor }
      self.since = since
    } else {
      since = NotificationCursor(id: .start)
    }
    guard let text = limits.first else {
      limit = NotificationQuery.defaultLimit
      return
    }
    guard let limit = text.integer(in: NotificationQuery.limits) else { throw NotificationQuery.invalidLimit }
    self.limit = limit
  }
}

/// Where a client continues to read: the id of a stream entry as opaque text.
struct NotificationCursor: Equatable {
  let id: StreamID

  var text: String { String(decoding: Base64URL.encode(Array(id.text.utf8)), as: UTF8.self) }
}

extension NotificationCursor {
  /// Returns nil unless `text` is the ``text`` of a cursor.
  init?(parsing text: String) {
    guard let bytes = Base64URL.decode(text.utf8), let id = StreamID(parsing: String(decoding: bytes, as: UTF8.self)),
      // Redis refuses to read after the largest id.
      id != StreamID(milliseconds: .max, sequence: .max)
    else { return nil }
    self.id = id
  }
}

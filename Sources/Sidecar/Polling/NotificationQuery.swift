import HTTPServer
import Jobs

/// What `/notifications` is asked for.
struct NotificationQuery: Equatable {
  static let defaultLimit = 50
  static let limits = 1...200

  static let invalidCursor = BadRequest(text: "Invalid cursor")
  static let invalidLimit = BadRequest(
    text: "Limit must be an integer between \(limits.lowerBound) and \(limits.upperBound)")

  let since: NotificationCursor
  let limit: Int

  /// Without `since`, or with an empty one, from the oldest on.
  init(_ items: [(name: String, value: String)]) throws(BadRequest) {
    let cursors = items.filter { $0.name == "since" }.map(\.value)
    let limits = items.filter { $0.name == "limit" }.map(\.value)
    guard cursors.count <= 1 else { throw NotificationQuery.invalidCursor }
    guard limits.count <= 1 else { throw NotificationQuery.invalidLimit }
    if let cursor = cursors.first, !cursor.isEmpty {
      guard let since = NotificationCursor(parsing: cursor) else { throw NotificationQuery.invalidCursor }
      self.since = since
    } else {
      since = NotificationCursor(id: .start)
    }
    let isPlain = limits.first?.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) ?? true
    guard isPlain, let limit = Int(limits.first ?? "\(NotificationQuery.defaultLimit)"),
      NotificationQuery.limits.contains(limit)
    else { throw NotificationQuery.invalidLimit }
    self.limit = limit
  }
}

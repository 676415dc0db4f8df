import Queue
import HTTPServer
import Jobs

/// Where in a stream of notification records a page begins, and how long it may be.
struct NotificationQuery: Equatable {
  /// How a document names the cursor, and what it says of a wrong question.
  struct Wording: Equatable {
    let cursor: String
    let invalidCursor: BadRequest
    let invalidLimit: BadRequest

    static let notifications = Wording(
      cursor: "since", invalidCursor: NotificationQuery.invalidCursor,
      invalidLimit: NotificationQuery.invalidLimit)

    static let events = Wording(
      cursor: "cursor", invalidCursor: BadRequest(text: "invalid_cursor"),
      invalidLimit: BadRequest(text: "invalid_limit"))
  }

  static let defaultLimit = 50
  static let limits = 1...200

  static let invalidCursor = BadRequest(text: "Invalid cursor")
  static let invalidLimit = BadRequest(
    text: "Limit must be an integer between \(limits.lowerBound) and \(limits.upperBound)")

  let since: NotificationCursor
  let limit: Int

  /// Without a cursor, or with an empty one, from the oldest on.
  init(_ items: [(name: String, value: String)], _ wording: Wording = .notifications) throws(BadRequest) {
    let cursors = items.filter { $0.name == wording.cursor }.map(\.value)
    let limits = items.filter { $0.name == "limit" }.map(\.value)
    guard cursors.count <= 1 else { throw wording.invalidCursor }
    guard limits.count <= 1 else { throw wording.invalidLimit }
    if let cursor = cursors.first, !cursor.isEmpty {
      guard let since = NotificationCursor(parsing: cursor) else { throw wording.invalidCursor }
      self.since = since
    } else {
      since = NotificationCursor(id: .start)
    }
    let isPlain = limits.first?.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) ?? true
    guard isPlain, let limit = Int(limits.first ?? "\(NotificationQuery.defaultLimit)"),
      NotificationQuery.limits.contains(limit)
    else { throw wording.invalidLimit }
    self.limit = limit
  }
}

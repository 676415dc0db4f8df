import Jobs
import SidecarSupport
import Testing

@testable import Sidecar
import Redis

struct NotificationQueryTests {
  private func query(_ items: [(String, String)]) throws -> NotificationQuery {
    try NotificationQuery(items.map { (name: $0.0, value: $0.1) }, cursor: "since")
  }

  @Test(arguments: ["0-0", "1700000000000-0", "18446744073709551615-18446744073709551614"])
  func `a cursor is parsed from its own text`(text: String) throws {
    let cursor = NotificationCursor(id: try #require(StreamID(parsing: text)))
    #expect(NotificationCursor(parsing: cursor.text) == cursor)
    #expect(try query([("since", cursor.text)]).since == cursor)
  }

  /// Raw texts, and base64url of text that is not a stream id: `1`, `1-`, `-1`, `01-0`, `1-+1`, `1-0 `, `18446744073709551616-0`.
  @Test(arguments: [
    "1700000000000-0", "MS0w=", "MS0x\n", "AA", "%", "-", "$", "MQ", "MS0", "LTE", "MDEtMA", "MS0rMQ", "MS0wIA",
    "MTg0NDY3NDQwNzM3MDk1NTE2MTYtMA", "_____w", "MS0wLTA",
  ])
  func `a malformed cursor is refused`(text: String) {
    refuses(.invalid(field: "cursor"), "Invalid cursor") { try query([("since", text)]) }
  }

  @Test(arguments: [
    "0", "201", "-1", "+5", " 5", "5 ", "", "ten", "5.0", "1e1", "0x10", "99999999999999999999", "٥",
  ])
  func `an invalid limit is refused with the range`(text: String) {
    refuses(.invalid(field: "limit"), "Limit must be an integer between 1 and 200") { try query([("limit", text)]) }
  }

  @Test func `a repeated item is refused`() {
    refuses(.invalid(field: "cursor"), "Invalid cursor") { try query([("since", "MS0w"), ("since", "MS0w")]) }
    refuses(.invalid(field: "limit"), "Limit must be an integer between 1 and 200") {
      try query([("limit", "1"), ("limit", "1")])
    }
  }

  @Test func `an empty query starts at the oldest record, with fifty a page`() throws {
    #expect(try query([]) == query([("since", ""), ("limit", "50"), ("other", "x")]))
    #expect(try query([]).since.id == .start)
    #expect(try query([("limit", "200")]).limit == 200)
    #expect(try query([("limit", "1")]).limit == 1)
  }
}

import JSON
import Redis

/// Reads the cursors of lists, which stand in links.
package enum Cursor {
  private static let maximumDigits = 20

  /// Returns a cursor that is the id of a stream entry, `1700000000000-0`. Nil without a cursor. Throws 400 for another text.
  package static func streamID(_ text: String?) throws(PageError) -> String? {
    guard let text else { return nil }
    guard StreamID(parsing: text) != nil else { throw .badCursor }
    return text
  }

  /// Returns the cursor of a scan, `0` without one. Throws 400 for another text.
  package static func scan(_ text: String?) throws(PageError) -> String {
    guard let text else { return "0" }
    guard text.utf8.count <= maximumDigits, text.integer(in: 0...UInt64.max) != nil else { throw .badCursor }
    return text
  }
}

/// Where a job is in a sorted set: `<letter> <score> <beginning of the element>`, the value of ``QueueKeys/due(_:)``.
///
/// The script that moves the job there writes it. It may be out of date: then no element has this beginning and score.
package enum DueLocator {
  package enum Place: String {
    case retry = "r"
    case scheduled = "s"
    case dead = "d"
  }

  /// How long it stays after the due time.
  static let outlives = Duration.seconds(24 * 3600)
  /// How long it stays after the job has died.
  static let outlivesDeath = Duration.seconds(30 * 24 * 3600)

  /// The first line of an element: its nonce makes it unique.
  package static func head(_ element: [UInt8]) -> [UInt8] {
    let end = element.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? element.endIndex
    return Array(element[..<end])
  }

  /// The beginning of a dead letter. No id contains what JSON escapes.
  package static func head(ofLetter id: String) -> [UInt8] { Array(#"{"id":"\#(id)","#.utf8) }
}

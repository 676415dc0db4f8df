import JSON
import Sidecar

/// What an alert says about an event.
struct MatrixText {
  private static let (maximumLine, maximumBody) = (200, 2000)

  /// The sender.
  let title: String?
  /// The room.
  let subtitle: String?
  var body: String

  /// Returns nil if the notification does not say what kind of event it is about.
  init?(_ notification: MatrixNotification) {
    guard let type = notification.type else { return nil }
    title = notification.sender
    subtitle = notification.room
    let text =
      switch type {
      case "m.room.message": notification.message.flatMap { MatrixText.text($0, maximumBytes: MatrixText.maximumBody) }
      case "m.call.invite": "Call"
      case "m.room.member" where notification.isInvitation: "Invitation"
      default: nil as String?
      }
    body = text ?? "New message"
  }

  /// A name that stands in one line; nil if nothing of it can be shown.
  static func line(_ value: JSONValue?) -> String? {
    value?.string.flatMap { text($0, maximumBytes: maximumLine)?.replacing("\n", with: " ") }
  }

  private static func text(_ text: String, maximumBytes: Int) -> String? {
    // Longer text is cut first: it is as long as its sender likes.
    let scalars = text.prefix(bytes: 2 * maximumBytes).unicodeScalars.filter { $0.value >= 0x20 || $0 == "\n" }
    let shown = shortened(String(String.UnicodeScalarView(scalars)).trimmed, to: maximumBytes)
    return shown.isEmpty ? nil : shown
  }

  /// Returns the beginning of a text in at most `count` bytes, with an ellipsis.
  static func shortened(_ text: String, to count: Int) -> String {
    guard text.utf8.count > count else { return text }
    var kept = text.prefix(bytes: max(0, count - "…".utf8.count))
    if kept.unicodeScalars.last == "\u{FFFD}" { kept.unicodeScalars.removeLast() }
    return kept + "…"
  }
}

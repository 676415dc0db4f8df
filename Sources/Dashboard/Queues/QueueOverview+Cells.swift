import Operations
import Queue

/// What pages show of a queue.
extension QueueOverview {
  /// Milliseconds that the oldest job waits; nil if that is not known.
  func age(now: Int64) -> Int64? { waitingSince.map { max(0, now - $0) } }

  /// Whether the queue is paused, by whom, since when and why.
  func badge(now: Int64) -> Cell {
    guard let pause else { return .badge("running", .good) }
    return .content { html in
      html.element("span") { html in
        html.badge("paused", .warn)
        html.text(" ")
        html.element("span", ["class": "quiet"]) { html in
          html.text("by \(pause.author) ")
          html.time(pause.since, now: now)
          if !pause.reason.isEmpty { html.text(": \(pause.reason)") }
        }
      }
    }
  }

  func ageCell(now: Int64) -> Cell {
    if waiting == 0 { return .text("–") }
    return age(now: now).map { .text(TimeText.duration($0)) } ?? .quiet("not known")
  }
}

extension QueuePause {
  var author: String { by.isEmpty ? "an operator" : by }
}

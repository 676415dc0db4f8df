import Operations
import Telemetry

/// The content of a cell of a table, or of a definition.
enum Cell: Sendable {
  case text(String)
  /// An integer, with thousands separated.
  case number(Int64)
  case link(String, Link)
  /// A short text that programs read, in a fixed-width font: an id, a key.
  case code(String)
  /// The same for names that are not broken where there is room.
  case name(String)
  /// Unix milliseconds.
  case time(Int64, now: Int64)
  case badge(String, Tone)
  case html(HTML)
  /// Nothing is known, or nothing applies.
  case none

  /// Makes a cell of any content.
  static func content(_ content: (inout HTML) -> Void) -> Cell { .html(HTML(content)) }

  /// What is missing, in words.
  static func quiet(_ text: String) -> Cell { .content { $0.element("span", ["class": "quiet"], text) } }

  static func number(_ number: Int) -> Cell { .number(Int64(number)) }
}

/// What a badge or a notice means. The text says it too; the colour only helps.
enum Tone: String, Sendable {
  case neutral, info, good, warn, bad
}

extension HTML {
  /// Appends the content of a cell.
  mutating func cell(_ cell: Cell) {
    switch cell {
    case .text(let text): self.text(text)
    case .number(let number): text(NumberText.grouped(number))
    case .link(let text, let link): self.link(text, to: link)
    case .code(let text): element("code", text)
    case .name(let text): element("code", ["class": "name"], text)
    case .time(let time, let now): self.time(time, now: now)
    case .badge(let text, let tone): badge(text, tone)
    case .html(let fragment): append(fragment)
    case .none: element("span", ["class": "none"], "–")
    }
  }

  /// Appends a short label: `paused`.
  mutating func badge(_ text: String, _ tone: Tone) {
    element("span", ["class": "badge \(tone.rawValue)"], text)
  }

  /// Appends a point of time: how long ago or until when; the exact time is its title.
  mutating func time(_ milliseconds: Int64, now: Int64) {
    let exact = TimeText.exact(milliseconds)
    element(
      "time", ["datetime": TimeText.machine(milliseconds), "title": exact], TimeText.relative(milliseconds, now: now))
  }

  /// Appends a point of time in UTC, and how long ago.
  mutating func exactTime(_ milliseconds: Int64, now: Int64) {
    element("time", ["datetime": TimeText.machine(milliseconds)], TimeText.exact(milliseconds))
    element("span", ["class": "quiet"], " \(TimeText.relative(milliseconds, now: now))")
  }

  /// Appends the first characters of a device token: enough to find it, too few to use it.
  mutating func token(_ token: String) {
    element("code", ["class": "token"], Log.shortened(token))
  }
}

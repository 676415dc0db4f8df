import Operations
import Telemetry

/// The content of a cell of a table, or of a definition.
package typealias Cell = HTML

extension Cell {
  /// Makes a cell of any content.
  package static func content(_ content: (inout HTML) -> Void) -> Cell { HTML(content) }

  package static func text(_ text: String) -> Cell { .content { $0.text(text) } }

  /// An integer, with thousands separated.
  package static func number(_ number: some BinaryInteger) -> Cell { .text(NumberText.grouped(number)) }

  package static func link(_ text: String, _ link: Link) -> Cell { .content { $0.link(text, to: link) } }

  /// A short text that programs read, in a fixed-width font: an id, a key.
  package static func code(_ text: String) -> Cell { .content { $0.element("code", text) } }

  /// The same for names that are not broken where there is room.
  package static func name(_ text: String) -> Cell { .content { $0.element("code", ["class": "name"], text) } }

  /// Unix milliseconds.
  package static func time(_ time: Int64, now: Int64) -> Cell { .content { $0.time(time, now: now) } }

  package static func badge(_ text: String, _ tone: Tone) -> Cell { .content { $0.badge(text, tone) } }

  /// What is missing, in words.
  package static func quiet(_ text: String) -> Cell { .content { $0.element("span", ["class": "quiet"], text) } }

  /// Nothing is known, or nothing applies.
  package static let none: Cell = .content { $0.element("span", ["class": "none"], "–") }
}

/// What a badge or a notice means. The text says it too; the colour only helps.
package enum Tone: String, Sendable {
  case neutral, info, good, warn, bad
}

extension HTML {
  /// Appends a short label: `paused`.
  package mutating func badge(_ text: String, _ tone: Tone) {
    element("span", ["class": "badge \(tone.rawValue)"], text)
  }

  /// Appends a point of time: how long ago or until when; the exact time is its title.
  package mutating func time(_ milliseconds: Int64, now: Int64) {
    let exact = TimeText.exact(milliseconds)
    element(
      "time", ["datetime": TimeText.machine(milliseconds), "title": exact], TimeText.relative(milliseconds, now: now))
  }

  /// Appends a point of time in UTC, and how long ago.
  package mutating func exactTime(_ milliseconds: Int64, now: Int64) {
    element("time", ["datetime": TimeText.machine(milliseconds)], TimeText.exact(milliseconds))
    element("span", ["class": "quiet"], " \(TimeText.relative(milliseconds, now: now))")
  }

  /// Appends the first characters of a device token: enough to find it, too few to use it.
  package mutating func token(_ token: String) {
    element("code", ["class": "token"], Log.shortened(token))
  }
}

import JSON
import Operations
import Telemetry

/// Numbers as people read them.
package enum NumberText {
  /// `1 234 567`, with narrow no-break spaces.
  package static func grouped(_ number: some BinaryInteger) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (place, digit) in digits.enumerated() {
      if place > 0, (digits.count - place) % 3 == 0 { text.append("\u{202F}") }
      text.append(digit)
    }
    return text
  }

  /// A number with one decimal below 10: `0`, `0.4`, `3.5`, `120`.
  package static func short(_ number: Double) -> String {
    guard number.isFinite, number.magnitude < 1e15 else { return "–" }
    if number.magnitude >= 9.95 || number == number.rounded() { return grouped(Int64(number.rounded())) }
    let tenths = Int64((number * 10).rounded())
    return tenths == 0 && number > 0 ? "<0.1" : "\(tenths / 10).\((tenths % 10).magnitude)"
  }

  /// `512 B`, `1.5 KiB`, `3.0 GiB`.
  package static func bytes(_ count: Int64) -> String {
    guard count >= 1024 else { return "\(count) B" }
    var value = Double(count) / 1024
    var unit = 0
    let units = ["KiB", "MiB", "GiB", "TiB"]
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return "\(short(value)) \(units[unit])"
  }

  /// `3 jobs`, `1 job`.
  package static func count(_ number: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
    "\(grouped(number)) \(number == 1 ? one : many ?? one + "s")"
  }
}

extension TimeText {
  /// `2026-12-24 18:00:00 UTC`
  package static func exact(_ milliseconds: Int64) -> String {
    let text = Timestamp.text(milliseconds)
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) UTC"
  }

  /// `2026-12-24T18:00:00.000Z`
  package static func machine(_ milliseconds: Int64) -> String { Timestamp.text(milliseconds) }
}

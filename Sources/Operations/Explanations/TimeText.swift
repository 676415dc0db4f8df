import Jobs

/// Times and durations in sentences.
public struct TimeText: Sendable {
  /// Unix ms.
  public let now: Int64
  public let localTime: LocalTime

  /// `now` is in unix ms.
  public init(now: Int64, localTime: LocalTime = .system) {
    self.now = now
    self.localTime = localTime
  }

  /// `08:00:00` in the local time, with the date in front unless it is today: `2026-11-23 08:00:00`.
  public func clock(_ milliseconds: Int64) -> String {
    let text = localTime.text(milliseconds)
    guard text.prefix(10) != localTime.text(now).prefix(10) else { return String(text.dropFirst(11)) }
    return text
  }

  /// `250 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 days 2 h`.
  public static func duration(_ milliseconds: Int64) -> String {
    let milliseconds = max(0, milliseconds)
    if milliseconds < 1000 { return milliseconds == 0 ? "0 s" : "\(milliseconds) ms" }
    let seconds = milliseconds / 1000
    switch seconds {
    case ..<60: return "\(seconds) s"
    case ..<3600: return parts(seconds / 60, "min", seconds % 60, "s")
    case ..<86_400: return parts(seconds / 3600, "h", seconds % 3600 / 60, "min")
    default: return parts(seconds / 86_400, seconds / 86_400 == 1 ? "day" : "days", seconds % 86_400 / 3600, "h")
    }
  }

  private static func parts(_ first: Int64, _ unit: String, _ second: Int64, _ smaller: String) -> String {
    second == 0 ? "\(first) \(unit)" : "\(first) \(unit) \(second) \(smaller)"
  }

  /// `in 12 s`, `3 min 20 s ago` or `now`.
  public func relative(_ milliseconds: Int64) -> String { TimeText.relative(milliseconds, now: now) }

  /// The same, from `now` in unix ms.
  public static func relative(_ milliseconds: Int64, now: Int64) -> String {
    // A producer's time may be any number.
    let (exact, overflow) = milliseconds.subtractingReportingOverflow(now)
    let difference = !overflow ? exact : milliseconds < now ? .min : .max
    guard difference.magnitude >= 1000 else { return "now" }
    let duration = duration(Int64(clamping: difference.magnitude))
    return difference > 0 ? "in \(duration)" : "\(duration) ago"
  }
}

import JSON
import Operations

/// The hours of the day in which only critical notifications are sent. They may cross midnight.
struct QuietHours: Sendable, Equatable {
  static let expected = "hours like 23:00-08:00 with different ends, or off"
  static let standard = QuietHours(beginMinute: 23 * 60, endMinute: 8 * 60)

  /// The first quiet minute of the local day.
  let beginMinute: Int64
  /// The first minute of the local day that is not quiet.
  let endMinute: Int64
}

extension QuietHours {
  /// Reads `23:00-08:00`. Nil if the text is malformed or both ends are equal.
  init?(_ text: String) {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false).map(QuietHours.minute)
    guard ends.count == 2, let begin = ends[0], let end = ends[1], begin != end else { return nil }
    self.init(beginMinute: begin, endMinute: end)
  }

  /// `23:00-08:00`
  var text: String { QuietHours.text(beginMinute) + "-" + QuietHours.text(endMinute) }

  private static func text(_ minute: Int64) -> String {
    [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }

  private static func minute(_ text: Substring) -> Int64? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2,
      parts.allSatisfy({ $0.utf8.count == 2 }),
      let hour: Int64 = parts[0].integer(in: 0...23), let minute: Int64 = parts[1].integer(in: 0...59)
    else { return nil }
    return hour * 60 + minute
  }

  /// Returns when the quiet hours around `now` end (unix ms), or nil outside quiet hours.
  ///
  /// An hour that occurs twice is quiet both times: quiet hours begin at the first occurrence of their begin and end at the
  /// last occurrence of their end.
  func end(at now: Int64, _ localTime: LocalTime) -> Int64? {
    periods(around: now, localTime).first { $0.contains(now) }?.upperBound
  }

  /// Returns when quiet hours next begin, unix ms.
  func nextBegin(after now: Int64, _ localTime: LocalTime) -> Int64? {
    periods(around: now, localTime).map(\.lowerBound).filter { $0 > now }.min()
  }

  /// Returns the quiet hours of yesterday, today and tomorrow, unix ms, without those that a clock change skips completely.
  private func periods(around now: Int64, _ localTime: LocalTime) -> [Range<Int64>] {
    let today = localTime.day(at: now / 1000)
    return (today - 1...today + 1).compactMap { day in
      let lastDay = endMinute > beginMinute ? day : day + 1
      let begin = localTime.first(LocalTime.wall(day: day, minute: beginMinute))
      let end = localTime.last(LocalTime.wall(day: lastDay, minute: endMinute))
      return begin < end ? begin * 1000..<end * 1000 : nil
    }
  }
}

import JSON

/// Converts between instants and the local time of one time zone. All times are unix seconds; a local ("wall") time is
/// written as if it were UTC.
public struct LocalTime: Sendable {
  private static let day: Int64 = 86_400

  /// Returns the seconds east of Greenwich at an instant.
  let offset: @Sendable (Int64) -> Int64

  package init(offset: @escaping @Sendable (Int64) -> Int64) {
    self.offset = offset
  }

  /// Returns the number of the local day since 1970.
  package func day(at instant: Int64) -> Int64 {
    let wall = instant + offset(instant)
    return (wall >= 0 ? wall : wall - LocalTime.day + 1) / LocalTime.day
  }

  /// Returns the wall time of a minute of a day.
  package static func wall(day: Int64, minute: Int64) -> Int64 { day * LocalTime.day + minute * 60 }

  /// Returns the first instant with the wall time `wall`, or the instant of the clock change that skips it.
  package func first(_ wall: Int64) -> Int64 { instants(of: wall).first }

  /// Returns the last instant with the wall time `wall`, or the instant of the clock change that skips it.
  package func last(_ wall: Int64) -> Int64 { instants(of: wall).last }

  private func instants(of wall: Int64) -> (first: Int64, last: Int64) {
    let before = offset(wall - LocalTime.day)
    let after = offset(wall + LocalTime.day)
    let candidates = (wall - max(before, after), wall - min(before, after))
    guard before != after else { return candidates }
    switch (candidates.0 + offset(candidates.0) == wall, candidates.1 + offset(candidates.1) == wall) {
    case (true, true): return candidates
    case (true, false): return (candidates.0, candidates.0)
    case (false, true): return (candidates.1, candidates.1)
    case (false, false):
      let instant = change(from: wall - LocalTime.day, to: wall + LocalTime.day)
      return (instant, instant)
    }
  }

  /// Returns the first instant with the offset of `end`.
  private func change(from start: Int64, to end: Int64) -> Int64 {
    let former = offset(start)
    var (low, high) = (start, end)
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if offset(middle) == former { low = middle } else { high = middle }
    }
    return high
  }
}

extension LocalTime {
  /// Returns unix milliseconds as a local date and time: `2026-01-31 09:30:00`. Times before 1970 or after 9999 are clamped.
  public func text(_ milliseconds: Int64) -> String {
    let instant = min(max(milliseconds, 0), Timestamp.maximum)
    let wall = Timestamp.text(instant + offset(instant / 1000) * 1000)
    return "\(wall.prefix(10)) \(wall.dropFirst(11).prefix(8))"
  }
}

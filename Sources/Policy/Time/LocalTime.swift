/// What the clock on the wall shows, in one time zone. All times in unix seconds; a wall time is written as if it were UTC.
public struct LocalTime: Sendable {
  private static let day: Int64 = 86_400

  /// Seconds east of Greenwich at an instant.
  private let offset: @Sendable (Int64) -> Int64

  public init(offset: @escaping @Sendable (Int64) -> Int64) {
    self.offset = offset
  }

  /// The number of the local day, counted from 1970.
  func day(at instant: Int64) -> Int64 {
    let wall = instant + offset(instant)
    return (wall >= 0 ? wall : wall - LocalTime.day + 1) / LocalTime.day
  }

  /// The wall time of a minute of a day.
  static func wall(day: Int64, minute: Int64) -> Int64 { day * LocalTime.day + minute * 60 }

  /// When the wall shows `wall` for the first time; the moment of the leap when it never does.
  func first(_ wall: Int64) -> Int64 { instants(of: wall).first }

  /// When the wall shows `wall` for the last time; the moment of the leap when it never does.
  func last(_ wall: Int64) -> Int64 { instants(of: wall).last }

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
      let leap = change(from: wall - LocalTime.day, to: wall + LocalTime.day)
      return (leap, leap)
    }
  }

  /// The first instant of the offset that `end` has.
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

/// The reasons of a fault that goes on which were told already. Each is told again after some time: it may be the only one that is left
/// in a log.
public struct ToldReasons: Sendable {
  /// Nanoseconds.
  private static let interval: UInt64 = 300_000_000_000
  /// A fault whose text is never the same must not fill the log.
  private static let most = 8

  /// When each was told, on the monotonic clock.
  private var told: [String: UInt64] = [:]

  public init() {}

  /// Returns whether the reason is to be told now, which is then noted. `now` in nanoseconds of the monotonic clock.
  public mutating func tells(_ reason: String, at now: UInt64) -> Bool {
    told = told.filter { now < $0.value + ToldReasons.interval }
    guard told[reason] == nil, told.count < ToldReasons.most else { return false }
    told[reason] = now
    return true
  }
}

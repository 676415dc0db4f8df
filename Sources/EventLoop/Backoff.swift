/// Exponential backoff with full jitter: a random delay below a bound that doubles from ``base`` to ``cap``.
public struct Backoff: Sendable, Equatable {
  /// The bound after the first failed attempt; positive.
  public let base: Duration
  /// No bound is greater.
  public let cap: Duration

  public init(base: Duration, cap: Duration) {
    precondition(base > .zero, "the base of a backoff must be positive")
    self.base = base
    self.cap = cap
  }

  /// Returns the delay after failed attempt number `attempt`; 1 is the first, and lower numbers count as 1.
  ///
  /// `random`, in 0...1, chooses the delay between zero and the bound.
  public func delay(attempt: Int, random: Double) -> Duration {
    var bound = base
    var doublings = max(attempt, 1) - 1
    while doublings > 0, bound < cap {
      bound *= 2
      doublings -= 1
    }
    return .nanoseconds(Int64(Double(min(bound, cap).nanoseconds) * random))
  }
}

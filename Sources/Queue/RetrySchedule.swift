import EventLoop

/// When a job is retried: full jitter, with a bound that doubles from 1 s to 15 min.
public struct RetrySchedule: Sendable, Equatable {
  public static let base = Duration.seconds(1)
  public static let ceiling = Duration.seconds(15 * 60)
  /// The shortest delay, whatever was drawn.
  public static let floor = Duration.milliseconds(50)

  public let maximumAttempts: Int

  public init(maximumAttempts: Int) {
    self.maximumAttempts = maximumAttempts
  }

  /// Returns the delay after the `attempts`-th attempt (1 is the first), or nil if that was the last one or the job
  /// would expire before it is due.
  ///
  /// `now` and `expiration` are unix milliseconds, `random` is in 0..<1, and `atLeast` is what the gateway asked for
  /// (Retry-After).
  public func delay(
    afterAttempt attempts: Int, now: Int64, expiration: Int64?, atLeast: Duration = .zero, random: Double
  ) -> Duration? {
    guard attempts < maximumAttempts else { return nil }
    let doublings = min(max(attempts - 1, 0), 20)
    let bound = min(RetrySchedule.ceiling, RetrySchedule.base * (1 << doublings))
    let drawn = Duration.nanoseconds(Int64(Double(bound.components.seconds) * 1e9 * random))
    let delay = max(drawn, RetrySchedule.floor, atLeast)
    if let expiration, now + delay.milliseconds >= expiration { return nil }
    return delay
  }
}

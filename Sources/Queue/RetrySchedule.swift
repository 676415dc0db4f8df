import EventLoop

/// When a job that could not be finished runs again: full jitter, 1 s doubling to 15 min.
public struct RetrySchedule: Sendable, Equatable {
  private static let backoff = Backoff(base: .seconds(1), cap: .seconds(15 * 60))
  /// The shortest delay, so that the gateway always gets a moment.
  public static let floor = Duration.milliseconds(50)

  public let maximumAttempts: Int

  public init(maximumAttempts: Int) {
    self.maximumAttempts = maximumAttempts
  }

  /// Returns the delay after attempt number `attempts` (1 is the first), chosen by `random` in 0..<1.
  ///
  /// Returns nil after the last attempt, and if the job would be due at or after `expiration` (unix milliseconds).
  /// `atLeast` is the delay that the gateway asked for (Retry-After).
  public func delay(
    afterAttempt attempts: Int, now: Int64, expiration: Int64?, atLeast: Duration = .zero, random: Double
  ) -> Duration? {
    guard attempts < maximumAttempts else { return nil }
    let drawn = RetrySchedule.backoff.delay(attempt: attempts, random: random)
    let delay = max(drawn, RetrySchedule.floor, atLeast)
    if let expiration, now + delay.milliseconds >= expiration { return nil }
    return delay
  }
}

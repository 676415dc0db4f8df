import EventLoop

/// When a job that could not be finished runs again: full jitter, 1 s doubling to 15 min.
public struct RetrySchedule: Sendable, Equatable {
  public static let base = Duration.seconds(1)
  public static let ceiling = Duration.seconds(15 * 60)
  /// Even the shortest draw leaves the gateway a moment.
  public static let floor = Duration.milliseconds(50)

  public let maximumAttempts: Int

  public init(maximumAttempts: Int) {
    self.maximumAttempts = maximumAttempts
  }

  /// The delay after the `attempts`-th attempt (1 is the first), drawn by `random` from 0..<1; nil when that was the last
  /// attempt, or when the job would be due after `expiration` (unix milliseconds).
  /// `atLeast` is what the gateway asked for (Retry-After).
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

import EventLoop

/// When jobs that were postponed are due: one after the other, about as fast as the pushes of their app end. Pure.
///
/// A backlog of any size comes back slowly, so a stalled app costs Redis little.
struct PostponeSchedule: Equatable {
  /// The minimum number of jobs of a stalled app that come back in a second. It is lower if the worker cannot postpone twice
  /// as many: jobs come back to the front of the queue, and those of other apps behind them would never be claimed.
  static let jobsPerSecond = 500
  static let shortestDelay = Duration.milliseconds(250)
  /// The maximum delay of the first job that is postponed.
  static let longestFirstDelay = Duration.seconds(2)
  static let longestDelay = Duration.seconds(600)
  /// A delay is up to this fraction shorter or longer.
  static let jitter = 0.25

  /// When the last job is due, without jitter; on CLOCK_MONOTONIC, nanoseconds.
  private var last: UInt64 = 0
  /// When the last job was postponed; on CLOCK_MONOTONIC, nanoseconds.
  private var latest: UInt64 = 0

  /// Returns the delay of the next job. `now`: on CLOCK_MONOTONIC, nanoseconds. `waitingJobs` are sent before it.
  /// `untilExpiration` is nil for a job that does not expire; `random` is from 0..<1.
  mutating func next(
    now: UInt64, waitingJobs: Int, endedPerSecond: Int, untilExpiration: Duration? = nil, random: Double
  ) -> Duration {
    let untilSent = Duration.seconds(1) * waitingJobs / max(1, endedPerSecond)
    let first = min(max(untilSent, PostponeSchedule.shortestDelay), PostponeSchedule.longestFirstDelay)
    let pause = last > now ? 2 * (now - latest) : 0
    let stalled = max(Duration.seconds(1) / PostponeSchedule.jobsPerSecond, .nanoseconds(Int64(pause)))
    let spacing = endedPerSecond > 0 ? min(stalled, Duration.seconds(1) / endedPerSecond) : stalled
    latest = now
    last = min(
      max(last, now + first.unsignedNanoseconds) + spacing.unsignedNanoseconds,
      now + PostponeSchedule.longestDelay.unsignedNanoseconds)
    let jitter = PostponeSchedule.jitter * (2 * random - 1)
    let delay = Duration.nanoseconds(Int64(last - now)) * (1 + jitter)
    // A job that would be due after its expiration comes back before it.
    return max(.zero, untilExpiration.map { min(delay, $0 / 2) } ?? delay)
  }
}

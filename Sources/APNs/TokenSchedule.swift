import EventLoop

/// When a provider token may be minted, and when it says that it was issued. Times are nanoseconds on CLOCK_MONOTONIC; a clock
/// offset leads from there to unix time.
///
/// Apple refuses tokens older than 60 minutes, and more than one new token in 20 minutes for a key. Workers share one
/// token without communicating: each dates its token to the start of the current window of 50 minutes of unix time. The key
/// signs deterministically, so all workers mint the same bytes and change them at the same moment.
///
/// Apple's clock decides how old a token is. A worker whose token is refused because its clock is off mints another one instead,
/// issued at the last five minutes of its clock, and returns to the fleet's token in the next window or when its clock was set.
/// Workers that are all refused, because the key was revoked for example, so have the same one again.
struct TokenSchedule {
  /// What a token says about its time.
  enum Issue: Equatable {
    /// The start of a window, in unix seconds: the token of the whole fleet.
    case window(Int64)
    /// The clock of this machine, in unix seconds, rounded down to a multiple of ``ownSeconds``.
    case ownClock(Int64)

    var seconds: Int64 {
      switch self {
      case .window(let seconds), .ownClock(let seconds): seconds
      }
    }
  }

  static let windowSeconds: Int64 = 50 * 60
  static let ownSeconds: Int64 = 5 * 60
  /// A smaller change of the clock does not make a token invalid.
  static let clockStep = Duration.seconds(60).unsignedNanoseconds
  static let renewalInterval = Duration.seconds(20 * 60).unsignedNanoseconds

  /// Number of tokens minted.
  private(set) var generation = 0
  private var issue = Issue.window(0)
  /// When the last token was minted that may have been new to APNs. A return to the fleet's token is not: others have shown it.
  private var renewedAt: UInt64 = 0
  private var offsetAtMint: Int64 = 0
  /// Unix nanoseconds.
  private var windowEnd: Int64 = 0

  /// Returns whether a token must be minted: there is none, its window is over, or it is a worker's own and the clock was set.
  ///
  /// A worker's own token is kept for 20 minutes at least: it was new to APNs.
  func isDue(now: UInt64, clockOffset: Int64) -> Bool {
    guard generation > 0 else { return true }
    let isWindowOver = Int64(now) + clockOffset >= windowEnd
    guard case .ownClock = issue else { return isWindowOver }
    return isClockSet(clockOffset) || (isWindowOver && now >= renewedAt + TokenSchedule.renewalInterval)
  }

  /// Returns whether a refused token may be renewed now. The first token is not a renewal, so it can be renewed at
  /// once. So can a token from before the clock was set: its time of issue is wrong.
  func mayRenew(now: UInt64, clockOffset: Int64) -> Bool {
    generation <= 1 || now >= renewedAt + TokenSchedule.renewalInterval || isClockSet(clockOffset)
  }

  /// Returns the issue of a token that is due.
  func due(now: UInt64, clockOffset: Int64) -> Issue {
    .window(TokenSchedule.windowStart(of: TokenSchedule.unixSeconds(now, clockOffset)))
  }

  /// Returns the issue of a token that replaces a refused one: by the clock of this machine, or of the window if the clock was set.
  func renewal(now: UInt64, clockOffset: Int64) -> Issue {
    let window = due(now: now, clockOffset: clockOffset)
    if isClockSet(clockOffset), window.seconds != issue.seconds { return window }
    let seconds = TokenSchedule.unixSeconds(now, clockOffset)
    let own = seconds - seconds % TokenSchedule.ownSeconds
    // Not the token that was refused.
    return .ownClock(own == issue.seconds ? own + 1 : own)
  }

  mutating func minted(_ issue: Issue, now: UInt64, clockOffset: Int64) {
    if case (.ownClock, .window) = (self.issue, issue) {} else { renewedAt = now }
    generation += 1
    self.issue = issue
    offsetAtMint = clockOffset
    windowEnd = (TokenSchedule.windowStart(of: issue.seconds) + TokenSchedule.windowSeconds) * 1_000_000_000
  }

  /// A machine that was suspended counts too: CLOCK_MONOTONIC stands still meanwhile.
  private func isClockSet(_ clockOffset: Int64) -> Bool {
    (clockOffset - offsetAtMint).magnitude >= TokenSchedule.clockStep
  }

  private static func unixSeconds(_ now: UInt64, _ clockOffset: Int64) -> Int64 {
    (Int64(now) + clockOffset) / 1_000_000_000
  }

  static func windowStart(of unixSeconds: Int64) -> Int64 {
    unixSeconds - unixSeconds % windowSeconds
  }
}

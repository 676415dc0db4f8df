import EventLoop

/// Detects connections on which nothing is received any more. All times are nanoseconds on CLOCK_MONOTONIC.
struct Watchdog {
  enum Action: Equatable {
    case wait
    /// Send a PING now.
    case ping
    case close(ConnectionEnd)
  }

  let limits: APNsConfiguration.Limits
  private var lastReceived: UInt64
  /// When something was written to which nothing has been received yet.
  private var waitingSince: UInt64?
  private var pingedAt: UInt64?
  private var hasSettings = false

  init(limits: APNsConfiguration.Limits, openedAt: UInt64) {
    self.limits = limits
    lastReceived = openedAt
  }

  mutating func received(now: UInt64, stillInFlight: Bool) {
    lastReceived = now
    waitingSince = stillInFlight ? now : nil
  }

  mutating func receivedSettings() { hasSettings = true }

  mutating func receivedPong() { pingedAt = nil }

  mutating func wrote(now: UInt64) {
    if waitingSince == nil { waitingSince = now }
  }

  /// Returns what to do now. Call it about once a second.
  mutating func tick(now: UInt64, inFlight: Int) -> Action {
    if !hasSettings, now > lastReceived + limits.pongTimeout.unsignedNanoseconds {
      return .close(.noSettings)
    }
    if let pingedAt {
      let isLate = now > pingedAt + limits.pongTimeout.unsignedNanoseconds
      return isLate ? .close(.noPong) : .wait
    }
    let isQuiet = waitingSince.map { now > $0 + limits.quietBeforePing.unsignedNanoseconds } ?? false
    let isIdle = now > lastReceived + limits.idleBeforePing.unsignedNanoseconds
    guard inFlight > 0 ? isQuiet : isIdle else { return .wait }
    pingedAt = now
    return .ping
  }
}

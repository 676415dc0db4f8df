/// Finds connections on which nothing moves any more. All times are nanoseconds on CLOCK_MONOTONIC.
struct Watchdog {
  enum Action: Equatable { case wait, ping, close(String) }

  let limits: APNsConfiguration.Limits
  private var lastReceived: UInt64
  /// Since when something written has been waiting for any sign of life; 0 when nothing is.
  private var waitingSince: UInt64 = 0
  private var pingedAt: UInt64 = 0
  private var hasSettings = false

  init(limits: APNsConfiguration.Limits, openedAt: UInt64) {
    self.limits = limits
    lastReceived = openedAt
  }

  mutating func received(now: UInt64, stillInFlight: Bool) {
    lastReceived = now
    waitingSince = stillInFlight ? now : 0
  }

  mutating func receivedSettings() { hasSettings = true }

  mutating func receivedPong() { pingedAt = 0 }

  mutating func wrote(now: UInt64) {
    if waitingSince == 0 { waitingSince = now }
  }

  /// Call it about once a second; on `.ping` a PING must be sent.
  mutating func check(now: UInt64, inFlight: Int) -> Action {
    if !hasSettings, now > lastReceived + limits.pongTimeout.unsigned {
      return .close("the server sent no HTTP/2 SETTINGS")
    }
    if pingedAt != 0 {
      return now > pingedAt + limits.pongTimeout.unsigned ? .close("the server no longer answers PING") : .wait
    }
    let isQuiet = inFlight > 0 && waitingSince != 0 && now > waitingSince + limits.quietBeforePing.unsigned
    let isIdle = inFlight == 0 && now > lastReceived + limits.idleBeforePing.unsigned
    guard isQuiet || isIdle else { return .wait }
    pingedAt = now
    return .ping
  }
}

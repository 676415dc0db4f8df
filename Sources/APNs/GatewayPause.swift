import EventLoop

/// Pauses a gateway that answers every push with an error of its own, such as 503, and probes it with one push after
/// growing delays. Pure; times are nanoseconds on CLOCK_MONOTONIC.
struct GatewayPause {
  private enum State: Equatable {
    /// `errors`: how many of the last answers were errors without another answer between them.
    case open(errors: Int)
    case paused(until: UInt64)
    /// One push at a time is sent, until an answer decides.
    case probing
  }

  enum Change: Equatable {
    case paused
    case resumed
  }

  /// Fewer may be the errors of one server behind the gateway.
  static let errorsBeforePause = 20
  /// The longest Retry-After that is obeyed.
  static let maximumWait = Duration.seconds(300)

  private let backoff: Backoff
  private var state = State.open(errors: 0)
  /// Pauses and failed probes since the last other answer.
  private var failures = 0
  /// When the gateway was paused; nil while it is open.
  private(set) var since: UInt64?
  /// The reason of the last error.
  private(set) var reason = ""

  init(backoff: Backoff) {
    self.backoff = backoff
  }

  var isPaused: Bool {
    if case .paused = state { true } else { false }
  }

  /// How many pushes may be in flight; nil without a limit.
  var limit: Int? {
    switch state {
    case .open: nil
    case .paused: 0
    case .probing: 1
    }
  }

  /// Records any answer. `random` is from 0...1.
  mutating func record(_ answer: APNsAnswer, now: UInt64, random: @autoclosure () -> Double) -> Change? {
    switch answer.meaning {
    case .retryLater(let after):
      return recordError(
        reason: answer.reason ?? "HTTP_\(answer.status)", retryAfter: after.map { .seconds($0) }, now: now,
        random: random())
    // The edge of the gateway sends these. They say nothing about the servers behind it.
    case .newConnection, .providerRefused, .forbidden, .tooManyProviderTokens, .ourBug: return nil
    default: return recordSuccess()
    }
  }

  /// Records an answer that is not an error of the gateway.
  mutating func recordSuccess() -> Change? {
    if state == .open(errors: 0) { return nil }
    let wasOpen = since == nil
    state = .open(errors: 0)
    failures = 0
    since = nil
    return wasOpen ? nil : .resumed
  }

  /// Records an error of the gateway, with its Retry-After. `random` is from 0...1.
  mutating func recordError(
    reason: String, retryAfter: Duration?, now: UInt64, random: @autoclosure () -> Double
  ) -> Change? {
    switch state {
    case .open(let errors) where errors + 1 < GatewayPause.errorsBeforePause:
      state = .open(errors: errors + 1)
      return nil
    case .paused:
      return nil
    case .open, .probing:
      self.reason = reason
      failures += 1
      // At least half of the bound, so that a fleet's probes are few.
      let delay = backoff.delay(attempt: failures, random: 0.5 + random() / 2)
      let wait = max(delay, min(retryAfter ?? .zero, GatewayPause.maximumWait))
      state = .paused(until: now + wait.unsignedNanoseconds)
      guard since == nil else { return nil }
      since = now
      return .paused
    }
  }

  /// Begins to probe if that is due. Returns whether it did.
  mutating func probeIfDue(now: UInt64) -> Bool {
    guard case .paused(let until) = state, now >= until else { return false }
    state = .probing
    return true
  }
}

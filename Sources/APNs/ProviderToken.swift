import EventLoop
import Telemetry

/// The team's provider token, shared by all connections.
///
/// Signing takes 26 us and happens on the loop, so that at most one renewal runs at a time.
@EventLoop
final class ProviderToken {
  private let key: ProviderKey
  private let log: Log
  private var schedule = TokenSchedule()
  /// The token before the newest, used if APNs reports that tokens change too often.
  private var previous: (authorization: [UInt8], issuedAt: Int64)?
  private var usesPrevious = false

  /// The value of the `authorization` header; empty before the first token is minted.
  private(set) var authorization: [UInt8] = []
  /// Of the token in use, in unix seconds by this machine's clock.
  private var issuedAt: Int64 = 0

  init(key: ProviderKey, log: Log) {
    self.key = key
    self.log = log
  }

  var generation: Int { schedule.generation }

  /// The age of the token in use, in seconds, as this machine's clock shows it; nil before the first token is minted.
  var age: Int64? { authorization.isEmpty ? nil : Clock.unixMilliseconds / 1000 - issuedAt }

  /// Mints a token if there is none or it is too old. Returns whether there is a token to use.
  func prepare(now: UInt64) -> Bool {
    if schedule.isDue(now: now, clockOffset: clockOffset(at: now)) { mint(now: now) }
    return !authorization.isEmpty
  }

  /// Renews the token because APNs refused `generation`, if the schedule allows it.
  ///
  /// Returns whether the current token differs from the refused one.
  func renew(afterRefusalOf refused: Int, now: UInt64) -> Bool {
    if refused == schedule.generation, schedule.mayRenew(now: now, clockOffset: clockOffset(at: now)) { mint(now: now) }
    return refused != schedule.generation
  }

  /// Returns to the previous token because APNs reports too many. Returns false if there is none.
  func fallBack(afterRefusalOf refused: Int) -> Bool {
    guard refused == schedule.generation, !usesPrevious else { return true }
    guard let previous else { return false }
    (authorization, issuedAt) = previous
    usesPrevious = true
    log.warn("APNs asks for fewer provider tokens, continuing with the older one")
    return true
  }

  /// Nanoseconds from CLOCK_MONOTONIC to unix time. It changes when the clock is set, and while the machine is suspended.
  private func clockOffset(at now: UInt64) -> Int64 {
    Int64(Clock.unixNanoseconds) - Int64(now)
  }

  private func mint(now: UInt64) {
    let unixSeconds = Clock.unixMilliseconds / 1000
    do {
      let token = try key.sign(issuedAt: unixSeconds)
      previous = authorization.isEmpty ? nil : (authorization, issuedAt)
      authorization = Array("bearer ".utf8) + token
      issuedAt = unixSeconds
      usesPrevious = false
      schedule.minted(now: now, clockOffset: clockOffset(at: now))
      log.info("provider token minted", ["keyId": .init(key.keyID), "generation": .init(schedule.generation)])
    } catch {
      log.error("provider token could not be signed", ["error": .init(error.description)])
    }
  }
}

/// When a provider token may be minted. All times are nanoseconds on CLOCK_MONOTONIC; a clock offset leads from there to unix
/// time.
///
/// Apple refuses tokens older than 60 minutes, and more than one renewal in 20 minutes. Apple's clock decides how old a token is:
/// a machine that was suspended, or whose clock was set, holds a token of another age than its own clock shows.
struct TokenSchedule {
  static let refreshAge = Duration.seconds(50 * 60).unsignedNanoseconds
  /// A smaller change of the clock does not make a token invalid.
  static let clockStep = Duration.seconds(60).unsignedNanoseconds
  static let renewalInterval = Duration.seconds(20 * 60).unsignedNanoseconds

  /// Number of tokens minted.
  private(set) var generation = 0
  private var mintedAt: UInt64 = 0
  private var offsetAtMint: Int64 = 0

  /// Returns whether a token must be minted: there is none, or it is too old.
  func isDue(now: UInt64, clockOffset: Int64 = 0) -> Bool {
    let added = UInt64(max(0, clockOffset - offsetAtMint))
    return generation == 0 || now + added >= mintedAt + TokenSchedule.refreshAge
  }

  /// Returns whether a refused token may be renewed now. The first token is not a renewal, so it can be renewed at
  /// once. So can a token from before the clock was set: its time of issue is wrong.
  func mayRenew(now: UInt64, clockOffset: Int64 = 0) -> Bool {
    generation <= 1 || now >= mintedAt + TokenSchedule.renewalInterval
      || (clockOffset - offsetAtMint).magnitude >= TokenSchedule.clockStep
  }

  mutating func minted(now: UInt64, clockOffset: Int64 = 0) {
    generation += 1
    mintedAt = now
    offsetAtMint = clockOffset
  }
}

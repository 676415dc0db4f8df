import EventLoop
import Telemetry

/// The team's provider token, shared by all connections. Workers with the same key have the same one: ``TokenSchedule``.
///
/// Signing takes less than a millisecond and happens on the loop, so that at most one renewal runs at a time.
@EventLoop
final class ProviderToken {
  private let key: ProviderKey
  private let log: Log
  /// The clock of this machine, in unix nanoseconds.
  private let unixTime: @EventLoop () -> UInt64
  private var schedule = TokenSchedule()
  /// The token before the newest, used if APNs reports that tokens change too often.
  private var previous: (authorization: [UInt8], issuedAt: Int64)?
  private var usesPrevious = false

  /// The value of the `authorization` header; empty before the first token is minted.
  private(set) var authorization: [UInt8] = []
  /// Of the token in use, in unix seconds by this machine's clock.
  private var issuedAt: Int64 = 0

  init(key: ProviderKey, log: Log, unixTime: @escaping @EventLoop () -> UInt64 = { Clock.unixNanoseconds }) {
    self.key = key
    self.log = log
    self.unixTime = unixTime
  }

  var generation: Int { schedule.generation }

  /// The age of the token in use, in seconds, as this machine's clock shows it; nil before the first token is minted.
  var age: Int64? { authorization.isEmpty ? nil : Int64(unixTime() / 1_000_000_000) - issuedAt }

  /// Mints a token if there is none or it is too old. Returns whether there is a token to use.
  func prepare(now: UInt64) -> Bool {
    let offset = clockOffset(at: now)
    if schedule.isDue(now: now, clockOffset: offset) {
      mint(schedule.due(now: now, clockOffset: offset), now: now, clockOffset: offset)
    }
    return !authorization.isEmpty
  }

  /// Renews the token because APNs refused `generation`, if the schedule allows it.
  ///
  /// Returns whether the current token differs from the refused one.
  func renew(afterRefusalOf refused: Int, now: UInt64) -> Bool {
    let offset = clockOffset(at: now)
    if refused == schedule.generation, schedule.mayRenew(now: now, clockOffset: offset) {
      mint(schedule.renewal(now: now, clockOffset: offset), now: now, clockOffset: offset)
    }
    return refused != schedule.generation
  }

  /// Returns to the previous token because APNs reports too many. Returns false if there is none.
  func fallBack(afterRefusalOf refused: Int) -> Bool {
    guard refused == schedule.generation, !usesPrevious else { return true }
    guard let previous else { return false }
    (authorization, issuedAt) = previous
    usesPrevious = true
    // Operator: Nothing, unless it lasts: another program renews tokens with the same key.
    log.warn("APNs asks for fewer provider tokens, continuing with the older one")
    return true
  }

  /// Nanoseconds from CLOCK_MONOTONIC to unix time. It changes when the clock is set, and while the machine is suspended.
  private func clockOffset(at now: UInt64) -> Int64 {
    Int64(unixTime()) - Int64(now)
  }

  private func mint(_ issue: TokenSchedule.Issue, now: UInt64, clockOffset: Int64) {
    do {
      let token = try key.sign(issuedAt: issue.seconds)
      previous = authorization.isEmpty ? nil : (authorization, issuedAt)
      authorization = Array("bearer ".utf8) + token
      issuedAt = issue.seconds
      usesPrevious = false
      schedule.minted(issue, now: now, clockOffset: clockOffset)
      log.info(
        "provider token minted",
        ["keyId": .init(key.keyID), "generation": .init(schedule.generation), "issuedAt": .init(issuedAt)])
    } catch {
      // Operator: Check the key: `martlet doctor`.
      log.error("provider token could not be signed", ["error": .init(error.description)])
    }
  }
}

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
  private var previous: [UInt8]?
  private var usesPrevious = false

  /// The value of the `authorization` header; empty before the first token is minted.
  private(set) var authorization: [UInt8] = []

  init(key: ProviderKey, log: Log) {
    self.key = key
    self.log = log
  }

  var generation: Int { schedule.generation }

  /// Mints a token if there is none or it is too old. Returns whether there is a token to use.
  func prepare(now: UInt64) -> Bool {
    if schedule.isDue(now: now) { mint(now: now) }
    return !authorization.isEmpty
  }

  /// Renews the token because APNs refused `generation`, if the schedule allows it.
  ///
  /// Returns whether the current token differs from the refused one.
  func renew(afterRefusalOf refused: Int, now: UInt64) -> Bool {
    if refused == schedule.generation, schedule.mayRenew(now: now) { mint(now: now) }
    return refused != schedule.generation
  }

  /// Returns to the previous token because APNs reports too many. Returns false if there is none.
  func fallBack(afterRefusalOf refused: Int) -> Bool {
    guard refused == schedule.generation, !usesPrevious else { return true }
    guard let previous else { return false }
    authorization = previous
    usesPrevious = true
    log.warn("APNs asks for fewer provider tokens, continuing with the older one")
    return true
  }

  private func mint(now: UInt64) {
    do {
      let token = try key.sign(issuedAt: Clock.unixMilliseconds / 1000)
      previous = authorization.isEmpty ? nil : authorization
      authorization = Array("bearer ".utf8) + token
      usesPrevious = false
      schedule.minted(now: now)
      log.info("provider token minted", ["keyId": .init(key.keyID), "generation": .init(schedule.generation)])
    } catch {
      log.error("provider token could not be signed", ["error": .init(error.description)])
    }
  }
}

/// When a provider token may be minted. All times are nanoseconds on CLOCK_MONOTONIC.
///
/// Apple refuses tokens older than 60 minutes, and more than one renewal in 20 minutes.
struct TokenSchedule {
  static let refreshAge = Duration.seconds(50 * 60).unsignedNanoseconds
  static let renewalInterval = Duration.seconds(20 * 60).unsignedNanoseconds

  /// Number of tokens minted.
  private(set) var generation = 0
  private var mintedAt: UInt64 = 0

  /// Returns whether a token must be minted: there is none, or it is too old.
  func isDue(now: UInt64) -> Bool {
    generation == 0 || now >= mintedAt + TokenSchedule.refreshAge
  }

  /// Returns whether a refused token may be renewed now. The first token is not a renewal, so it can be renewed at
  /// once.
  func mayRenew(now: UInt64) -> Bool {
    generation <= 1 || now >= mintedAt + TokenSchedule.renewalInterval
  }

  mutating func minted(now: UInt64) {
    generation += 1
    mintedAt = now
  }
}

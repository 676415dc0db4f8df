import EventLoop
import Telemetry

/// The one provider token of the team, shared by all connections.
///
/// Signing takes 26 us and happens on the loop, so there is never more than one refresh under way.
@EventLoop
final class ProviderToken {
  private let key: ProviderKey
  private let log: Log
  private var schedule = TokenSchedule()
  /// The older token, for when APNs finds that tokens change too often.
  private var previous: [UInt8]?
  /// The token in use is the older one.
  private var isFallenBack = false

  /// Value of the `authorization` header; empty before the first mint.
  private(set) var authorization: [UInt8] = []

  init(key: ProviderKey, log: Log) {
    self.key = key
    self.log = log
  }

  var generation: Int { schedule.generation }

  /// Mints a new token when there is none or it is getting old. False: there is none to use.
  func prepare(now: UInt64) -> Bool {
    if schedule.isDue(now: now) { mint(now: now) }
    return !authorization.isEmpty
  }

  /// A push that carried the token of `generation` was refused for it. True: a different token is there now.
  func renew(afterRefusalOf refused: Int, now: UInt64) -> Bool {
    if schedule.shouldMint(afterRefusalOf: refused, now: now) {
      let before = schedule.generation
      mint(now: now)
      return schedule.generation != before
    }
    return refused != schedule.generation
  }

  /// APNs asks for the older token. True: it is in use now.
  func fallBack(afterRefusalOf refused: Int) -> Bool {
    guard refused == schedule.generation, !isFallenBack else { return true }
    guard let previous else { return false }
    authorization = previous
    isFallenBack = true
    log.warn("APNs asks for fewer provider tokens, going on with the older one")
    return true
  }

  private func mint(now: UInt64) {
    do {
      let token = try key.sign(issuedAt: Clock.unixMilliseconds / 1000)
      previous = authorization.isEmpty ? nil : authorization
      authorization = Array("bearer ".utf8) + token
      isFallenBack = false
      schedule.minted(now: now)
      log.info("provider token minted", ["keyId": .init(key.keyID), "generation": .init(schedule.generation)])
    } catch {
      log.error("provider token could not be signed", ["error": .init(error.description)])
    }
  }
}

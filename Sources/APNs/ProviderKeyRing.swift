import EventLoop
import Telemetry

/// The provider tokens of a team's keys, and which of them signs.
@EventLoop
final class ProviderKeyRing {
  private let keys: [ProviderKey]
  private let tokens: [ProviderToken]
  /// Whether another key can replace the one that signs.
  let hasSeveral: Bool
  private let log: Log
  private var choice: KeyChoice
  /// When each key was refused, unix milliseconds.
  private var refusedSince: [Int: Int64] = [:]
  /// The token of the key that signs.
  private(set) var token: ProviderToken

  /// `keys` are not empty.
  init(keys: [ProviderKey], limits: APNsConfiguration.Limits, log: Log) {
    self.keys = keys
    self.log = log
    tokens = keys.map { ProviderToken(key: $0, log: log) }
    token = tokens[0]
    hasSeveral = keys.count > 1
    choice = KeyChoice(
      count: keys.count, changeInterval: limits.keyChangeInterval.unsignedNanoseconds,
      retryInterval: limits.keyRetryInterval.unsignedNanoseconds)
  }

  var count: Int { keys.count }

  /// The index of the key that signs.
  var current: Int { choice.current }

  /// The keys that APNs refuses.
  var notices: [KeyNotice] {
    refusedSince.sorted { $0.key < $1.key }.map { index, since in
      KeyNotice(teamID: keys[index].teamID, keyID: keys[index].keyID, signs: index == current, since: since)
    }
  }

  /// Records that APNs refused the key of `push`. Returns whether another key signs now than the one that the push carried.
  func refused(_ push: Push, reason: String, now: UInt64) -> Bool {
    let index = push.keyIndex
    switch choice.refused(index, submittedAt: push.submittedAt, now: now) {
    case .outdated: return true
    case .none: return false
    case .changed: break
    }
    refusedSince[index] = refusedSince[index] ?? Clock.unixMilliseconds
    // When it is tried again, it is not with the refused token.
    _ = tokens[index].renew(afterRefusalOf: push.tokenGeneration, now: now)
    token = tokens[current]
    // Operator: Follow `fix`. Another key of the team delivers: [keys](apps.md#keys).
    log.error(
      "APNs refuses a provider key: another one signs",
      [
        "reason": .init(reason), "teamId": .init(keys[index].teamID), "keyId": .init(keys[index].keyID),
        "signs": .init(keys[current].keyID),
        "fix":
          "remove a revoked key from MARTLET_APPS, name the environment or topics of a restricted one; then send SIGHUP",
      ])
    return true
  }

  /// Records that APNs accepted a push.
  func proven(by push: Push, now: UInt64) {
    let index = push.keyIndex
    guard choice.proven(index, now: now), refusedSince.removeValue(forKey: index) != nil else { return }
    log.info(
      "APNs accepts the provider key again",
      ["teamId": .init(keys[index].teamID), "keyId": .init(keys[index].keyID)])
  }

  /// Returns to the first key if that is due. Returns whether it did.
  func retryIfDue(now: UInt64) -> Bool {
    guard hasSeveral, choice.retryIfDue(now: now) else { return false }
    token = tokens[current]
    log.info("the first provider key is tried again", ["keyId": .init(keys[current].keyID)])
    return true
  }
}

/// A provider key that APNs refuses while the team has another one.
public struct KeyNotice: Sendable, Equatable {
  /// Maximum length of a list of notices.
  public static let maximumListed = 20

  public let teamID: String
  public let keyID: String
  /// Whether it signs nevertheless, because APNs refuses the others too.
  public let signs: Bool
  /// Unix milliseconds.
  public let since: Int64

  /// Returns each key of `notices` once, at most ``maximumListed``.
  static func listed(_ notices: [KeyNotice]) -> [KeyNotice] {
    var keys: Set<[String]> = []
    return Array(notices.filter { keys.insert([$0.teamID, $0.keyID]).inserted }.prefix(maximumListed))
  }
}

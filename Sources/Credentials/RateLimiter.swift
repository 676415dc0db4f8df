public import EventLoop
public import Redis

/// Counts in Redis what requests cause, for all sidecars and by the clock of Redis: of API keys in a token bucket and by UTC
/// day, limited actions by window.
///
/// A request counts its weight, the number of things that it makes, and is admitted whole or not at all. One that is heavier
/// than a limit is admitted if nothing else has been counted: refused, it would be refused for ever.
@EventLoop
public final class RateLimiter {
  /// How long the allowance of an unused key is kept. Seconds.
  private static let lifetime = 2 * 86_400

  private let connection: RedisClient

  public init(connection: RedisClient) {
    self.connection = connection
    connection.preload([CredentialScripts.takeScript, CredentialScripts.countScript])
  }

  /// Counts `action` of `subject`, unless the limit is reached.
  public func count(
    _ action: LimitedAction, of subject: String, _ limit: WindowLimit
  ) async throws(RedisError) -> WindowCount {
    try await count([(action, subject, limit, 1)])[0]
  }

  /// Counts all of them, each of which occurs once, or none if one has reached its limit. The windows are in their order.
  public func count(_ subjects: [LimitedSubject]) async throws(RedisError) -> [WindowCount] {
    let reply = try await connection.send(
      CredentialScripts.count(
        counters: RedisList(subjects.map { CredentialKeys.windowCount($0.action, $0.subject) }),
        limits: RedisList(
          subjects.flatMap { ["\($0.limit.count)", "\($0.limit.window.milliseconds)", "\($0.weight)"] })))
    let counts = reply.array ?? []
    return subjects.indices.map { index in
      let numbers = index < counts.count ? counts[index].array?.compactMap(\.integer) ?? [] : []
      // An invalid reply counts as a reached limit.
      guard numbers.count == 3 else {
        return WindowCount(count: .max, left: subjects[index].limit.window, isOver: true)
      }
      return WindowCount(count: Int(clamping: numbers[0]), left: .milliseconds(numbers[1]), isOver: numbers[2] != 0)
    }
  }

  /// Takes a request of `weight`, at least 1, from the allowance of the API key `name`.
  public func take(
    _ name: String, _ quota: KeyQuota, weight: Int = 1
  ) async throws(RedisError) -> RateDecision {
    let reply = try await connection.send(
      CredentialScripts.take(
        allowance: CredentialKeys.allowance(name), rate: quota.perSecond, burst: quota.burst, daily: quota.perDay,
        weight: weight, ttl: RateLimiter.lifetime))
    let numbers = reply.array?.compactMap(\.integer) ?? []
    return RateDecision(decision: numbers.first ?? 0, detail: numbers.dropFirst().first ?? 0, quota)
  }
}

/// Whether an API key may send a request now.
public enum RateDecision: Sendable, Equatable {
  case admitted
  /// The token bucket holds too little. Seconds until it holds enough, at least 1.
  case tooFast(retryAfter: Int)
  /// The requests of the day are used up. Seconds until midnight UTC, at least 1.
  case dayUsedUp(retryAfter: Int)

  private static let secondsOfDay: Int64 = 86_400
  /// The parts of a request in which the bucket is counted.
  private static let millionths = 1_000_000

  /// Reads the reply of the script in ``RateLimiter``.
  init(decision: Int64, detail: Int64, _ quota: KeyQuota) {
    switch decision {
    case 1: self = .admitted
    case -1:
      self = .dayUsedUp(retryAfter: Int(min(max(RateDecision.secondsOfDay - detail, 1), RateDecision.secondsOfDay)))
    default:
      // The bucket never fills. The client may try again the next day, when the quota may have changed.
      guard quota.perSecond > 0 else {
        self = .tooFast(retryAfter: Int(RateDecision.secondsOfDay))
        return
      }
      let perSecond = Int64(min(quota.perSecond, RateDecision.millionths)) * Int64(RateDecision.millionths)
      let whole = detail / perSecond + (detail % perSecond > 0 ? 1 : 0)
      self = .tooFast(retryAfter: Int(min(max(whole, 1), RateDecision.secondsOfDay)))
    }
  }
}

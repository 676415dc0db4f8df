public import EventLoop
public import Redis

/// Counts requests in Redis, for all sidecars and by the clock of Redis: those of API keys in a token bucket and by UTC day,
/// and limited actions by window.
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
    try await count([(action, subject, limit)])[0]
  }

  /// Counts all of them, each of which occurs once, or none if one has reached its limit. The windows are in their order.
  public func count(_ subjects: [LimitedSubject]) async throws(RedisError) -> [WindowCount] {
    let reply = try await connection.send(
      CredentialScripts.count(
        counters: RedisList(subjects.map { CredentialKeys.windowCount($0.action, $0.subject) }),
        limits: RedisList(subjects.flatMap { ["\($0.limit.count)", "\($0.limit.window.milliseconds)"] })))
    let counts = reply.array ?? []
    return subjects.indices.map { index in
      let numbers = index < counts.count ? counts[index].array?.compactMap(\.integer) ?? [] : []
      // An invalid reply counts as a reached limit.
      guard numbers.count == 2 else { return WindowCount(count: .max, left: subjects[index].limit.window) }
      return WindowCount(count: Int(clamping: numbers[0]), left: .milliseconds(numbers[1]))
    }
  }

  /// Takes one request from the allowance of the API key `name`.
  public func take(_ name: String, _ quota: KeyQuota) async throws(RedisError) -> RateDecision {
    let reply = try await connection.send(
      CredentialScripts.take(
        allowance: CredentialKeys.allowance(name), rate: quota.perSecond, burst: quota.burst, daily: quota.perDay,
        ttl: RateLimiter.lifetime))
    let numbers = reply.array?.compactMap(\.integer) ?? []
    return RateDecision(decision: numbers.first ?? 0, detail: numbers.dropFirst().first ?? 0, quota)
  }
}

/// Whether an API key may send a request now.
public enum RateDecision: Sendable, Equatable {
  case admitted
  /// The token bucket is empty. Seconds until it holds one request, at least 1.
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

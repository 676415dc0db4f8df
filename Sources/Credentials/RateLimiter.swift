public import EventLoop
public import Redis

/// Counts requests in Redis, for all sidecars and by the clock of Redis: those of API keys in a token bucket and by UTC day,
/// and limited actions by window.
@EventLoop
public final class RateLimiter {
  /// How long the allowance of an unused key is kept. Seconds.
  private static let lifetime = 2 * 86_400

  /// `rate`, `burst`, `daily`: requests a second, at once, and a day. `ttl`: that of the allowance, a hash, in s.
  ///
  /// The bucket is counted in millionths of a request: each microsecond adds as many as there are requests a second.
  /// Returns {1}, {0, missing millionths} or {-1, seconds of the day that have passed}. A refused request takes nothing from
  /// the bucket. PERSIST as the first write makes a full Redis accept the next one, so that devices can be deleted then. A
  /// script may not delete the key first, because it may not access it then while a cluster moves its slot.
  private static let take = RedisScript(
    keys: ["allowance"], arguments: ["rate", "burst", "daily", "ttl"],
    """
    local time = redis.call('TIME')
    local seconds, now = tonumber(time[1]), tonumber(time[1]) * 1000000 + tonumber(time[2])
    local capacity = tonumber(burst) * 1000000
    local known = redis.call('HMGET', allowance, 'millionths', 'at', 'day', 'count')
    local day, count = math.floor(seconds / 86400), 0
    if tonumber(known[3] or '') == day then count = tonumber(known[4] or '') or 0 end
    if count >= tonumber(daily) then return {-1, seconds % 86400} end
    local passed = math.max(0, now - (tonumber(known[2] or '') or now))
    local left = math.min(capacity, (tonumber(known[1] or '') or capacity) + passed * rate)
    if left < 1000000 then return {0, 1000000 - left} end
    redis.call('PERSIST', allowance)
    redis.call('HSET', allowance, 'millionths', string.format('%.0f', left - 1000000), 'at', string.format('%.0f', now),
      'day', day, 'count', count + 1)
    redis.call('EXPIRE', allowance, ttl)
    return {1}
    """)

  /// `counters`: strings that expire with their windows. `limits`: of each, times within a window, and the window in ms.
  ///
  /// Returns of each {times with this one, milliseconds until the window ends}. If one is over its limit, nothing is counted.
  /// PERSIST as the first write makes a full Redis accept the next one, so that counting continues.
  private static let count = RedisScript(
    keys: ["counters..."], arguments: ["limits..."],
    """
    local found, isOver = {}, false
    for at = 1, #KEYS - counters do
      local counter, limit, window = KEYS[counters + at], tonumber(ARGV[limits + 2 * at - 1]), tonumber(ARGV[limits + 2 * at])
      local count = tonumber(redis.call('GET', counter) or '') or 0
      local left = redis.call('PTTL', counter)
      if left <= 0 or left > window then count, left = 0, window end
      isOver = isOver or count >= limit
      found[at] = {count + 1, left}
    end
    for at = 1, isOver and 0 or #found do
      redis.call('PERSIST', KEYS[counters + at])
      redis.call('SET', KEYS[counters + at], found[at][1], 'PX', found[at][2])
    end
    return found
    """)

  private let connection: RedisClient

  public init(connection: RedisClient) {
    self.connection = connection
    connection.preload([RateLimiter.take, RateLimiter.count])
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
      RateLimiter.count(
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
      RateLimiter.take(
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

public import EventLoop
public import Redis

/// Counts in redis, for the whole fleet and by redis' clock: what API keys may ask for, by a token bucket and a count of the
/// UTC day; and what may happen so many times within a window.
@EventLoop
public final class RateLimiter {
  /// Seconds without a request after which nothing needs to be known of a key.
  private static let lifetime = 2 * 86_400

  /// KEYS: the allowance. ARGV: requests a second, burst, requests a day, seconds to live. The bucket is counted in
  /// millionths of a request, so that a microsecond brings as many as there are requests a second.
  /// Returns {1}, {0, millionths that are missing} or {-1, seconds of the day that have passed}. A refused request takes
  /// nothing. The removal comes first, so that a full redis lets devices be deleted.
  private static let take = RedisScript(
    """
    local time = redis.call('TIME')
    local seconds, now = tonumber(time[1]), tonumber(time[1]) * 1000000 + tonumber(time[2])
    local rate, capacity = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000000
    local known = redis.call('HMGET', KEYS[1], 'millionths', 'at', 'day', 'count')
    local day, count = math.floor(seconds / 86400), 0
    if tonumber(known[3] or '') == day then count = tonumber(known[4] or '') or 0 end
    if count >= tonumber(ARGV[3]) then return {-1, seconds % 86400} end
    local passed = math.max(0, now - (tonumber(known[2] or '') or now))
    local left = math.min(capacity, (tonumber(known[1] or '') or capacity) + passed * rate)
    if left < 1000000 then return {0, 1000000 - left} end
    redis.call('DEL', KEYS[1])
    redis.call('HSET', KEYS[1], 'millionths', string.format('%.0f', left - 1000000), 'at', string.format('%.0f', now),
      'day', day, 'count', count + 1)
    redis.call('EXPIRE', KEYS[1], ARGV[4])
    return {1}
    """)

  /// KEYS
  ///   1  the count, a string that expires with its window
  /// ARGV
  ///   1  times within a window
  ///   2  the window in milliseconds
  /// Returns {times with this one, milliseconds until the window ends}. What is over the limit is not counted. The removal
  /// comes first, so that a full redis goes on counting.
  private static let count = RedisScript(
    """
    local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
    local count = tonumber(redis.call('GET', KEYS[1]) or '') or 0
    local left = redis.call('PTTL', KEYS[1])
    if left <= 0 or left > window then count, left = 0, window end
    if count < limit then
      redis.call('DEL', KEYS[1])
      redis.call('SET', KEYS[1], count + 1, 'PX', left)
    end
    return {count + 1, left}
    """)

  private let connection: RedisConnection

  public init(connection: RedisConnection) {
    self.connection = connection
    connection.preload([RateLimiter.take, RateLimiter.count])
  }

  /// Counts `action` of `subject` once more, unless the limit is reached.
  public func count(
    _ action: LimitedAction, of subject: String, _ limit: WindowLimit
  ) async throws(RedisError) -> WindowCount {
    let reply = try await connection.call(RateLimiter.count, keys: [CredentialKeys.windowCount(action, subject)]) {
      command in
      command.append(limit.count)
      command.append(limit.window.milliseconds)
    }
    let numbers = reply.array?.compactMap(\.integer) ?? []
    // A reply that makes no sense admits nobody.
    guard numbers.count == 2 else { return WindowCount(count: .max, left: limit.window) }
    return WindowCount(count: Int(clamping: numbers[0]), left: .milliseconds(numbers[1]))
  }

  /// Takes one request out of the allowance of the API key `name`.
  public func take(_ name: String, _ quota: KeyQuota) async throws(RedisError) -> RateDecision {
    let arguments = [
      String(quota.perSecond), String(quota.burst), String(quota.perDay), String(RateLimiter.lifetime),
    ]
    let reply = try await connection.run(
      RateLimiter.take, keys: [CredentialKeys.allowance(name)], arguments: arguments)
    let numbers = reply.array?.compactMap(\.integer) ?? []
    return RateDecision(decision: numbers.first ?? 0, detail: numbers.dropFirst().first ?? 0, quota)
  }
}

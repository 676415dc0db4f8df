public import Redis

/// The state of an instance: read with Redis' own time, written only over what was read.
public enum PolicyScripts {
  public static let all = [read, replace]

  /// KEYS state. Answers {state or null, now in unix ms}.
  public static let read = RedisScript(
    """
    local time = redis.call('TIME')
    return {redis.call('GET', KEYS[1]), time[1] * 1000 + math.floor(time[2] / 1000)}
    """)

  /// KEYS state; ARGV the state that was read (empty: none), the new one, its TTL in ms. 0: it has changed meanwhile. The
  /// first write takes no memory, so that it runs when Redis is full.
  public static let replace = RedisScript(
    """
    if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
    return 1
    """)
}

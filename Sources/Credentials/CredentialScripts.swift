import Redis

/// The atomic steps of credentials and limits.
enum CredentialScripts {
  /// - `records`, `digests`: the records by name, and the names by digest.
  /// - `mark`: of operators, that there has been one; else `records`.
  /// - `current`: the record that was read, empty if there is none. `new`: the record with the secret.
  ///
  /// Returns 1 if added, 0 if the record is not the current one, -1 if the secret is taken.
  static let addScript = RedisScript(
    keys: ["records", "digests", "mark"], arguments: ["name", "current", "new", "digest"],
    """
    if (redis.call('HGET', records, name) or '') ~= current then return 0 end
    if redis.call('HEXISTS', digests, digest) == 1 then return -1 end
    redis.call('PERSIST', records)
    redis.call('HSET', records, name, new)
    redis.call('HSET', digests, digest, name)
    if mark ~= records then redis.call('SET', mark, '1') end
    return 1
    """)

  static func add(
    records: String, digests: String, mark: String, name: String, current: [UInt8], new: [UInt8], digest: String
  ) -> RedisCall {
    addScript.call(keys: records, digests, mark, arguments: name, current, new, digest)
  }

  /// - `records`, `digests`, `uses`: the records by name, the names by digest, and when each secret was last used.
  /// - `mark`: of operators, that there has been one; else `records`. Operators of an earlier version have none.
  /// - `current`: the record that was read. `new`: the record without the secrets, empty if there are no others.
  /// - `secrets`: the digest of each removed secret and the field of its last use.
  ///
  /// Returns 1 if removed, 0 if the record is not the current one.
  static let revokeScript = RedisScript(
    keys: ["records", "digests", "uses", "mark"], arguments: ["name", "current", "new", "secrets..."],
    """
    if redis.call('HGET', records, name) ~= current then return 0 end
    redis.call('HEXISTS', digests, name)
    redis.call('PERSIST', records)
    for at = secrets + 1, #ARGV, 2 do
      redis.call('HDEL', digests, ARGV[at])
      redis.pcall('HDEL', uses, ARGV[at + 1])
    end
    if new == '' then redis.call('HDEL', records, name) else redis.call('HSET', records, name, new) end
    if mark ~= records then redis.call('SET', mark, '1') end
    return 1
    """)

  static func revoke(
    records: String, digests: String, uses: String, mark: String, name: String, current: [UInt8], new: [UInt8],
    secrets: RedisList
  ) -> RedisCall {
    revokeScript.call(keys: records, digests, uses, mark, arguments: name, current, new, secrets)
  }

  /// Returns 1 if replaced, 0 if the record is not the current one. PERSIST changes nothing; as the first write it makes a
  /// full Redis accept the next one.
  static let replaceScript = RedisScript(
    keys: ["records"], arguments: ["name", "current", "new"],
    """
    if redis.call('HGET', records, name) ~= current then return 0 end
    redis.call('PERSIST', records)
    redis.call('HSET', records, name, new)
    return 1
    """)

  static func replace(records: String, name: String, current: [UInt8], new: [UInt8]) -> RedisCall {
    replaceScript.call(keys: records, arguments: name, current, new)
  }

  /// `rate`, `burst`, `daily`: requests a second, at once, and a day. `weight`: as how many this one counts. `ttl`: that of
  /// the allowance, a hash, in s.
  ///
  /// The bucket is counted in millionths of a request: each microsecond adds as many as there are requests a second. A request
  /// that is heavier than a full bucket leaves less than nothing in it.
  /// Returns {1}, {0, missing millionths} or {-1, seconds of the day that have passed}. A refused request takes nothing from
  /// the bucket. PERSIST as the first write makes a full Redis accept the next one, so that devices can be deleted then. A
  /// script may not delete the key first, because it may not access it then while a cluster moves its slot.
  static let takeScript = RedisScript(
    keys: ["allowance"], arguments: ["rate", "burst", "daily", "weight", "ttl"],
    """
    local time = redis.call('TIME')
    local seconds, now = tonumber(time[1]), tonumber(time[1]) * 1000000 + tonumber(time[2])
    local capacity = tonumber(burst) * 1000000
    local known = redis.call('HMGET', allowance, 'millionths', 'at', 'day', 'count')
    local day, count = math.floor(seconds / 86400), 0
    if tonumber(known[3] or '') == day then count = tonumber(known[4] or '') or 0 end
    if count + (count > 0 and weight or 1) > tonumber(daily) then return {-1, seconds % 86400} end
    local passed = math.max(0, now - (tonumber(known[2] or '') or now))
    local left = math.min(capacity, (tonumber(known[1] or '') or capacity) + passed * rate)
    local needed = math.max(1000000, math.min(weight * 1000000, capacity))
    if left < needed then return {0, needed - left} end
    redis.call('PERSIST', allowance)
    redis.call('HSET', allowance, 'millionths', string.format('%.0f', left - weight * 1000000), 'at', string.format('%.0f', now),
      'day', day, 'count', count + weight)
    redis.call('EXPIRE', allowance, ttl)
    return {1}
    """)

  static func take(allowance: String, rate: Int, burst: Int, daily: Int, weight: Int, ttl: Int) -> RedisCall {
    takeScript.call(keys: allowance, arguments: rate, burst, daily, weight, ttl)
  }

  /// `counters`: strings that expire with their windows. `limits`: of each, times within a window, the window in ms, and as
  /// how many times this one counts.
  ///
  /// Returns of each {times with this one, milliseconds until the window ends, 1 if it is over its limit}. If one is over its
  /// limit, nothing is counted.
  /// PERSIST as the first write makes a full Redis accept the next one, so that counting continues.
  static let countScript = RedisScript(
    keys: ["counters..."], arguments: ["limits..."],
    """
    local found, isOver = {}, false
    for at = 1, #KEYS - counters do
      local counter, limit = KEYS[counters + at], tonumber(ARGV[limits + 3 * at - 2])
      local window, weight = tonumber(ARGV[limits + 3 * at - 1]), tonumber(ARGV[limits + 3 * at])
      local count = tonumber(redis.call('GET', counter) or '') or 0
      local left = redis.call('PTTL', counter)
      if left <= 0 or left > window then count, left = 0, window end
      local excess = count > 0 and count + weight > limit
      isOver = isOver or excess
      found[at] = {count + weight, left, excess and 1 or 0}
    end
    for at = 1, isOver and 0 or #found do
      redis.call('PERSIST', KEYS[counters + at])
      redis.call('SET', KEYS[counters + at], found[at][1], 'PX', found[at][2])
    end
    return found
    """)

  static func count(counters: RedisList, limits: RedisList) -> RedisCall {
    countScript.call(keys: counters, arguments: limits)
  }
}

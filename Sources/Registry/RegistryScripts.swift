import Redis

/// The registry's atomic steps. First writes shrink, all keys are declared.
enum RegistryScripts {
  static let all = [removeMisplaced, removeStale, register, unregister]

  /// Takes an entry out of a user's set unless it has become the user's meanwhile.
  /// KEYS set, metadata of the entry; ARGV entry, username.
  static let removeMisplaced = RedisScript(
    """
    local raw = redis.call('TYPE', KEYS[2]).ok == 'string' and redis.call('GET', KEYS[2])
    if raw then
      local good, known = pcall(cjson.decode, raw)
      if good and type(known) == 'table' and known.username == ARGV[2] then return 0 end
    end
    return redis.call('SREM', KEYS[1], ARGV[1])
    """)

  /// Forgets a token that APNs calls stale, if it still is its owner's and was not registered anew.
  /// KEYS metadata, owner's set, audience shard; ARGV token, owner (empty: any), unix ms. 1: removed.
  static let removeStale = RedisScript(
    """
    local raw = redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1])
    if not raw then return 0 end
    local good, known = pcall(cjson.decode, raw)
    if not good or type(known) ~= 'table' then return 0 end
    if known.username ~= ARGV[2] then return 0 end
    if (tonumber(known.updatedAt) or 0) > tonumber(ARGV[3]) then return 0 end
    redis.call('DEL', KEYS[1])
    redis.call('SREM', KEYS[2], ARGV[1])
    redis.call('ZREM', KEYS[3], ARGV[1])
    return 1
    """)

  /// Registers a token for a user; takes it from whoever had it. The keys of the former owner are the caller's guess:
  /// answers {0, owner, bundle} without a write when the guess was wrong.
  /// KEYS metadata, user's set, audience shard, former owner's set, former audience shard;
  /// ARGV token, metadata, TTL in seconds, in an audience (1 or 0), former owner, former bundle.
  static let register = RedisScript(
    """
    local owner, bundle = '', ''
    local raw = redis.call('GET', KEYS[1])
    if raw then
      local good, known = pcall(cjson.decode, raw)
      if good and type(known) == 'table' then
        if type(known.username) == 'string' then owner = known.username end
        if type(known.bundleId) == 'string' then bundle = known.bundleId end
      end
    end
    if owner ~= ARGV[5] or bundle ~= ARGV[6] then return {0, owner, bundle} end
    if KEYS[4] ~= KEYS[2] then redis.call('SREM', KEYS[4], ARGV[1]) end
    if KEYS[5] ~= KEYS[3] then redis.call('ZREM', KEYS[5], ARGV[1]) end
    redis.call('SADD', KEYS[2], ARGV[1])
    redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
    if ARGV[4] == '1' then redis.call('ZADD', KEYS[3], 0, ARGV[1]) end
    return {1, owner, bundle}
    """)

  /// Takes a token from a user. KEYS metadata, user's set, audience shard; ARGV token, username.
  /// Answers {entries removed from the set, metadata removed}.
  static let unregister = RedisScript(
    """
    local removed = redis.call('SREM', KEYS[2], ARGV[1])
    local raw = redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1])
    if not raw then return {removed, 0} end
    local good, known = pcall(cjson.decode, raw)
    if not good or type(known) ~= 'table' or known.username ~= ARGV[2] then return {removed, 0} end
    redis.call('ZREM', KEYS[3], ARGV[1])
    return {removed, redis.call('DEL', KEYS[1])}
    """)
}

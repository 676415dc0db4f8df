import Events
import Redis

/// The scripts of changes. Each has one key, so that it runs on any node of a cluster, also while its slot moves; only
/// an event is a second key, with which a script waits until the slot has moved.
///
/// Then Redis refuses to access a key that the script itself has deleted, so none does. PERSIST changes nothing here; as
/// the first write it makes a full Redis accept the next one.
enum StepScripts {
  static let all = [swap, join, joinAudience, joinActivity, leave, open, overdue]

  /// - `metadata`, `outbox`: those of a token; the metadata twice if there is no event.
  /// - `expected`, `new`: the expected text, empty for none, and the new one; empty deletes the key.
  /// - `ttl`: the lifetime, in s, or KEEPTTL for that of the text before. `isForced`: 1 to write also if Redis is full.
  ///
  /// Returns {1 if written else 0, the text before}.
  static let swap = RedisScript(
    keys: ["metadata", "outbox"], arguments: ["expected", "new", "ttl", "isForced", "event"],
    """
    local found = redis.pcall('GET', metadata)
    if type(found) ~= 'string' then found = '' end
    if found ~= expected then return {0, found} end
    if new == '' then
      redis.call('DEL', metadata)
    else
      if isForced == '1' then redis.call('PERSIST', metadata) end
      redis.call('SET', metadata, new, unpack(ttl == 'KEEPTTL' and {ttl} or {'EX', ttl}))
    end
    if outbox ~= metadata then
      \(EventOutbox.append(to: "outbox", "event"))
    end
    return {1, found}
    """)

  /// Adds a token to a user's set. `limit`: how many entries the set may have; empty for any number. `isForced`: 1 to write
  /// also if Redis is full.
  ///
  /// Returns 1 if the set contains the token now, 0 if it has too many entries.
  static let join = RedisScript(
    keys: ["set"], arguments: ["token", "limit", "isForced"],
    """
    limit = tonumber(limit)
    if limit and redis.call('SCARD', set) >= limit and redis.call('SISMEMBER', set, token) == 0 then return 0 end
    if isForced == '1' then redis.call('PERSIST', set) end
    redis.call('SADD', set, token)
    return 1
    """)

  /// Adds a token to a shard of an audience, also if Redis is full. Returns 1.
  static let joinAudience = RedisScript(
    keys: ["shard"], arguments: ["token"],
    """
    redis.call('PERSIST', shard)
    redis.call('ZADD', shard, 0, token)
    return 1
    """)

  /// Adds a token to the hash of a Live Activity, also if Redis is full. `ttl`: how long the hash is kept, in s. Returns 1.
  static let joinActivity = RedisScript(
    keys: ["tokens"], arguments: ["token", "metadata", "ttl"],
    """
    redis.call('PERSIST', tokens)
    redis.call('HSET', tokens, token, metadata)
    redis.call('EXPIRE', tokens, ttl)
    return 1
    """)

  /// Removes a token from a user's set that has more than `most` entries. Returns how many entries were removed.
  static let leave = RedisScript(
    keys: ["set"], arguments: ["most", "token"],
    """
    if redis.call('SCARD', set) <= tonumber(most) then return 0 end
    return redis.call('SREM', set, token)
    """)

  /// Writes an entry to a journal. `isForced`: 1 to write also if Redis is full. Returns 1.
  static let open = RedisScript(
    keys: ["journal"], arguments: ["entry", "isForced"],
    """
    if isForced == '1' then redis.call('PERSIST', journal) end
    redis.call('ZADD', journal, redis.call('TIME')[1], entry)
    return 1
    """)

  /// Returns up to `most` entries of a journal that are older than `seconds`.
  static let overdue = RedisScript(
    keys: ["journal"], arguments: ["seconds", "most"],
    """
    local latest = redis.call('TIME')[1] - seconds
    return redis.call('ZRANGE', journal, '-inf', latest, 'BYSCORE', 'LIMIT', 0, most)
    """)
}

import Events
import Redis

/// The scripts of settlements. Each has one key, so that it runs on any node of a cluster, also while its slot moves; only
/// an event is a second key, with which a script waits until the slot has moved.
///
/// Then Redis refuses to access a key that the script itself has deleted, so none does. PERSIST changes nothing here; as
/// the first write it makes a full Redis accept the next one.
enum StepScripts {
  static let all = [swap, join, joinAudience, leave, open, overdue]

  /// KEYS
  ///   1  metadata of a token
  ///   2  the outbox of the token, if there is an event
  /// ARGV
  ///   1  the expected text; empty for none
  ///   2  the new text; empty deletes the key
  ///   3  the lifetime (seconds)
  ///   4  1 to write also if Redis is full
  ///   5  the event
  /// Returns {1 if written else 0, the text before}.
  static let swap = RedisScript(
    """
    local found = redis.pcall('GET', KEYS[1])
    if type(found) ~= 'string' then found = '' end
    if found ~= ARGV[1] then return {0, found} end
    if ARGV[2] == '' then
      redis.call('DEL', KEYS[1])
    else
      if ARGV[4] == '1' then redis.call('PERSIST', KEYS[1]) end
      redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
    end
    if KEYS[2] then
      \(EventOutbox.append(to: "KEYS[2]", "ARGV[5]"))
    end
    return {1, found}
    """)

  /// KEYS
  ///   1  a user's set
  /// ARGV
  ///   1  the token
  ///   2  how many entries the set may have; empty for any number
  ///   3  1 to write also if Redis is full
  /// Returns 1 if the set contains the token now, 0 if it has too many entries.
  static let join = RedisScript(
    """
    local limit = tonumber(ARGV[2])
    if limit and redis.call('SCARD', KEYS[1]) >= limit and redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 0 then
      return 0
    end
    if ARGV[3] == '1' then redis.call('PERSIST', KEYS[1]) end
    redis.call('SADD', KEYS[1], ARGV[1])
    return 1
    """)

  /// KEYS
  ///   1  a shard of an audience
  /// ARGV
  ///   1  the token
  /// Adds the token, also if Redis is full. Returns 1.
  static let joinAudience = RedisScript(
    """
    redis.call('PERSIST', KEYS[1])
    redis.call('ZADD', KEYS[1], 0, ARGV[1])
    return 1
    """)

  /// KEYS
  ///   1  a user's set
  /// ARGV
  ///   1  how many entries the set keeps
  ///   2… entries
  /// Returns how many entries were removed.
  static let leave = RedisScript(
    """
    local surplus, removed = redis.call('SCARD', KEYS[1]) - ARGV[1], 0
    for i = 2, #ARGV do
      if removed >= surplus then break end
      removed = removed + redis.call('SREM', KEYS[1], ARGV[i])
    end
    return removed
    """)

  /// KEYS
  ///   1  a journal
  /// ARGV
  ///   1  an entry
  ///   2  1 to write also if Redis is full
  /// Returns 1.
  static let open = RedisScript(
    """
    if ARGV[2] == '1' then redis.call('PERSIST', KEYS[1]) end
    redis.call('ZADD', KEYS[1], redis.call('TIME')[1], ARGV[1])
    return 1
    """)

  /// KEYS
  ///   1  a journal
  /// ARGV
  ///   1  seconds
  ///   2  maximum number of entries
  /// Returns the entries that are older.
  static let overdue = RedisScript(
    """
    local latest = redis.call('TIME')[1] - ARGV[1]
    return redis.call('ZRANGE', KEYS[1], '-inf', latest, 'BYSCORE', 'LIMIT', 0, ARGV[2])
    """)
}

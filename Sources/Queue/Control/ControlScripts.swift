import JSON
import Redis

/// The atomic steps by which operators steer a queue. See ``QueueScripts`` for what all scripts observe.
///
/// Those of workers are here and in ControlScripts+Finding.swift; the others are run by operators alone.
package enum ControlScripts {
  /// Lua: `change(key, add, remove, text)` changes the letters of a ``ControlState`` and raises its version. It keeps
  /// what is behind the letters unless `text` is given, deletes the key if no letter is left, and returns the value, or
  /// false without one.
  package static let changing = """
    local function change(key, add, remove, text)
      local old = redis.call('MGET', key)[1]
      local version, letters, rest = string.match(old or '', '^(%d+) (%u*)(.*)$')
      version, letters, rest = tonumber(version or 0), letters or '', text or rest or ''
      if remove ~= '' then letters = string.gsub(letters, remove, '') end
      if add ~= '' and not string.find(letters, add, 1, true) then letters = letters .. add end
      if letters == '' then
        if old then redis.call('DEL', key) end
        return false
      end
      \(RedisScript.clock)
      if version >= \(NumberRange.counts.upperBound) then version = 0 end
      version = math.max(version + 1, now)
      local new = string.format('%.0f', version) .. ' ' .. letters .. rest
      redis.call('PERSIST', key)
      redis.call('SET', key, new)
      return new
    end
    """

  /// Lua: `unpause(control, held, id)` removes the pause of a broadcast. Returns whether there was one. Needs ``changing``.
  package static let unpausing = """
    local function unpause(control, held, id)
      local count = redis.pcall('HLEN', held)
      if redis.pcall('HDEL', held, id) ~= 1 then return false end
      if count == 1 then change(control, '', 'B') else change(control, 'B', '') end
      return true
    end
    """

  /// Lua pattern of a ``ControlState`` that asks that no job is claimed.
  package static let pausedPattern = "^%d+ %u*P"

  /// Drains a worker under its new name.
  static let keepDrained = RedisScript(
    keys: ["control", "drained"], arguments: ["old", "new"],
    """
    \(changing)
    redis.call('PERSIST', drained)
    redis.call('SADD', drained, new)
    redis.call('SREM', drained, old)
    change(control, 'D', '')
    return 1
    """)

  /// Writes what a broadcast does, for operators. The time at which an earlier attempt began stays. The pause of a
  /// broadcast that has ended is removed.
  ///
  /// - `entry`, `ttl`, `at`: JSON of ``BroadcastEntry``, its TTL in ms, and the time in unix ms.
  /// - `most`: entries of `latest` at most.
  /// - `hasEnded`: 1 or 0.
  static let noteBroadcast = RedisScript(
    keys: ["latest", "broadcast", "control", "held"], arguments: ["id", "entry", "ttl", "at", "most", "hasEnded"],
    """
    \(changing)
    \(unpausing)
    local old, nonce = redis.call('MGET', broadcast)[1], string.match(entry, '"nonce":"[^"]*"')
    local since = old and nonce and string.find(old, nonce, 1, true) and string.match(old, '"startedAt":%d+')
    if since then entry = string.gsub(entry, '"startedAt":%d+', since) end
    redis.call('PERSIST', latest)
    redis.call('SET', broadcast, entry, 'PX', ttl)
    redis.call('ZADD', latest, at, id)
    redis.call('ZREMRANGEBYRANK', latest, 0, -1 - most)
    if hasEnded == '1' then unpause(control, held, id) end
    return 1
    """)
}

import JSON
import Redis

/// The atomic steps by which operators steer a queue. See ``QueueScripts`` for what all scripts observe.
///
/// Those of workers are here and in ControlScripts+Finding.swift; the others are run by operators alone.
enum ControlScripts {
  /// Lua: `change(key, add, remove, text)` changes the letters of a ``ControlState`` and raises its version. It keeps
  /// what is behind the letters unless `text` is given, deletes the key if no letter is left, and returns the value, or
  /// false without one.
  static let changing = """
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
      local time = redis.call('TIME')
      if version >= \(NumberRange.counts.upperBound) then version = 0 end
      version = math.max(version + 1, time[1] * 1000 + math.floor(time[2] / 1000))
      local new = string.format('%.0f', version) .. ' ' .. letters .. rest
      redis.call('PERSIST', key)
      redis.call('SET', key, new)
      return new
    end
    """

  /// Lua: `unhold(control, held, paused, id, except)` removes the pause of a broadcast that ends, unless a job with its id
  /// is paused in another field than `except`. Needs ``changing``.
  ///
  /// What Redis refuses is left out, as the job has ended already.
  static let unholding = """
    local function unhold(control, held, paused, id, except)
      if redis.pcall('HEXISTS', held, id) ~= 1 then return end
      for _, field in ipairs(redis.pcall('HKEYS', paused)) do
        if field ~= except and string.match(field, '^%S+') == id then return end
      end
      local count = redis.call('HLEN', held)
      if redis.pcall('HDEL', held, id) == 1 and count == 1 then change(control, '', 'B') end
    end
    """

  /// Drains a worker under its new name.
  ///
  /// KEYS
  ///   1  the control string
  ///   2  the drained workers
  /// ARGV
  ///   1  its old name
  ///   2  its new name
  /// Returns 1.
  static let keepDrained = RedisScript(
    """
    \(changing)
    redis.call('PERSIST', KEYS[2])
    redis.call('SADD', KEYS[2], ARGV[2])
    redis.call('SREM', KEYS[2], ARGV[1])
    change(KEYS[1], 'D', '')
    return 1
    """)

  /// Lua pattern of a ``ControlState`` that asks that no job is claimed.
  static let pausedPattern = "^%d+ %u*P"

  /// Puts an element back to the front of a queue.
  ///
  /// KEYS
  ///   1  the queue
  /// ARGV
  ///   1  the element
  /// Returns the length of the queue.
  static let putBack = RedisScript(
    """
    redis.call('PERSIST', KEYS[1])
    return redis.call('RPUSH', KEYS[1], ARGV[1])
    """)

  /// Writes what a broadcast does, for operators.
  ///
  /// KEYS
  ///   1  the latest broadcasts
  ///   2  the broadcast
  /// ARGV
  ///   1  the id
  ///   2  the broadcast, JSON
  ///   3  its TTL in ms
  ///   4  the time in unix ms
  ///   5  broadcasts at most
  /// An earlier attempt's beginning stays. Returns 1.
  static let noteBroadcast = RedisScript(
    """
    local old, nonce = redis.call('MGET', KEYS[2])[1], string.match(ARGV[2], '"nonce":"[^"]*"')
    local since = old and nonce and string.find(old, nonce, 1, true) and string.match(old, '"startedAt":%d+')
    local new = ARGV[2]
    if since then new = string.gsub(new, '"startedAt":%d+', since) end
    redis.call('PERSIST', KEYS[1])
    redis.call('SET', KEYS[2], new, 'PX', ARGV[3])
    redis.call('ZADD', KEYS[1], ARGV[4], ARGV[1])
    redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[5])
    return 1
    """)
}

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

/// How a job is found by its id.
extension ControlScripts {
  /// Lua: `find(key, score, head)` returns the element of a sorted set that has this score and begins with `head`, by
  /// binary search: elements of one score are sorted by their bytes. False if there is none.
  static let finding = """
    local function precedes(a, b)
      for i = 1, math.min(#a, #b) do
        local x, y = string.byte(a, i), string.byte(b, i)
        if x ~= y then return x < y end
      end
      return #a < #b
    end
    local function find(key, score, head)
      local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
      local high = redis.call('ZCOUNT', key, '-inf', score)
      while low < high do
        local middle = math.floor((low + high) / 2)
        local element = redis.call('ZRANGE', key, middle, middle)[1]
        local start = string.sub(element, 1, #head)
        if start == head then return element end
        if precedes(start, head) then low = middle + 1 else high = middle end
      end
      return false
    end
    """

  /// Lua: `locate(due, sets)` reads a ``DueLocator`` and returns its letter, score and element, if the element is still
  /// there. `sets` has the key of each letter.
  package static let locating = """
    \(finding)
    local function locate(due, sets)
      local value = redis.call('MGET', due)[1]
      local letter, score, head = string.match(value or '', '^(%l) (%-?%d[%d.e+-]*) (.*)$')
      local key = letter and tonumber(score) and sets[letter]
      if not key then return false end
      return letter, score, find(key, score, head)
    end
    """

  /// Makes a scheduled job due now. Returns 1, or 0 if it is not scheduled.
  static let hasten = RedisScript(
    keys: ["due", "scheduled"],
    """
    \(locating)
    local _, _, element = locate(due, {s = scheduled})
    if not element then return 0 end
    \(RedisScript.clock)
    redis.call('DEL', due)
    redis.call('ZADD', scheduled, string.format('%.0f', now), element)
    return 1
    """)

  /// Looks up claimed jobs before they are worked on. A job with a locator replaces the job that is scheduled under the
  /// same id.
  ///
  /// `locators`: of each job its locator if it replaces, or `cancelled`. `ids`: the id of each job.
  ///
  /// Returns of each job 0, 1 if it is cancelled, or 2 if an operator has paused it.
  static let screen = RedisScript(
    keys: ["cancelled", "held", "scheduled", "locators..."], arguments: ["ids..."],
    """
    \(locating)
    local answer, left, gone = {}, redis.call('ZCARD', scheduled), {}
    local marks, holds = redis.call('ZCARD', cancelled) > 0, redis.call('EXISTS', held) == 1
    for i, id in ipairs(ARGV) do
      local due = KEYS[locators + i]
      answer[i] = 0
      if marks and redis.call('ZSCORE', cancelled, id) then
        answer[i] = 1
      elseif holds and redis.call('HEXISTS', held, id) == 1 then
        answer[i] = 2
      end
      if answer[i] == 0 and due ~= cancelled and left > 0 and not gone[due] then
        local _, _, element = locate(due, {s = scheduled})
        if element then
          left = left - redis.call('ZREM', scheduled, element)
          redis.call('DEL', due)
          gone[due] = true
        end
      end
    end
    return answer
    """)
}

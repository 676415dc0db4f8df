import Redis

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

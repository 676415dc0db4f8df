import Jobs
extension QueueScripts {
  /// Lua: `producersBytes(element)` tells the length of the job in an envelope, `bury(element, head, size)` puts a job that is
  /// too large into the sorted set of dead letters, behind `head` when the element has no envelope yet; false when the key
  /// holds another type. Nothing was written then.
  ///
  /// `buried` lists length and beginning of each, `dropped` counts the letters that had to go.
  static func burying(_ key: String) -> String {
    """
    local buried, dropped = {}, 0
    local function producersBytes(element)
      local _, last, state = string.find(element, '^MARTLET1 %d+ %d+ %S+ (%d+)\\n')
      return last and #element - last - state or #element
    end
    local function bury(element, head, size)
      local found = redis.call('TYPE', \(key)).ok
      if found ~= 'none' and found ~= 'zset' then return false end
      local time = redis.call('TIME')
      local at = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
      local attempts = (string.match(element, '^MARTLET1 %d+ (%d+) ') or 0) + 1
      if head then attempts = 1 end
      local line = '{"reason":"\(Job.tooLarge)","at":' .. at .. ',"attempts":' .. attempts .. '}\\n'
      redis.call('ZADD', \(key), at, line .. (head or '') .. element)
      dropped = dropped + redis.call('ZREMRANGEBYRANK', \(key), 0, \(-1 - QueueLimits.maximumDeadLetters))
      buried[#buried + 1] = {size, (head or '') .. string.sub(element, 1, \(QueueLimits.buriedBeginning))}
      return true
    end
    """
  }
}

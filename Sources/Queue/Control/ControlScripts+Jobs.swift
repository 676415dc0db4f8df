import Events
import Redis

/// How operators find, cancel and advance jobs.
extension ControlScripts {
  /// Finds a retried, scheduled or dead job.
  ///
  /// KEYS
  ///   1  the locator
  ///   2  the retried jobs
  ///   3  the scheduled jobs
  ///   4  the dead letters
  /// Returns {letter, score, element}, or false.
  static let findDue = RedisScript(
    """
    \(locating)
    local letter, score, element = locate(KEYS[1], {r = KEYS[2], s = KEYS[3], d = KEYS[4]})
    return element and {letter, score, element} or false
    """)

  /// Lua: `leave(none, record, reply, stream)` writes the record and the reply of a cancelled job, and its event if there
  /// is a stream of events. ARGV 2 to 4 and 6 are those of ``cancelDue``. Needs ``QueueScripts/writing``.
  static let leaving = """
    local function leave(none, record, reply, stream)
      if record ~= none then write(record, ARGV[2], ARGV[3], ARGV[4]) end
      if reply ~= none then
        if redis.pcall('LPUSH', reply, ARGV[2]) == 1 then redis.pcall('EXPIRE', reply, 3600) end
      end
      if stream ~= none and redis.pcall('EXISTS', stream) == 1 then
        \(EventStream.append(to: "stream", "ARGV[6]"))
      end
    end
    """

  /// Removes a retried or scheduled job for good, with the pause of a broadcast.
  ///
  /// KEYS
  ///   1  the locator
  ///   2  the retried jobs
  ///   3  the scheduled jobs
  ///   4  the record, or KEYS 1 for none
  ///   5  the reply list, or KEYS 1 for none
  ///   6  the control string
  ///   7  the paused broadcasts
  ///   8  the jobs of paused broadcasts
  ///   9  the stream of events, or KEYS 1 for none
  /// ARGV
  ///   1  the beginning of the element: the job may have moved on
  ///   2  the record, JSON
  ///   3  its TTL in ms
  ///   4  the author of the record before
  ///   5  the id
  ///   6  the event, JSON
  /// Returns 1, or 0 if the job is not there any more.
  static let cancelDue = RedisScript(
    """
    \(QueueScripts.writing)
    \(locating)
    \(leaving)
    \(changing)
    \(unholding)
    local sets = {r = KEYS[2], s = KEYS[3]}
    local letter, score, element = locate(KEYS[1], sets)
    if not element or string.sub(element, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
    redis.call('ZREM', sets[letter], element)
    redis.call('DEL', KEYS[1])
    leave(KEYS[1], KEYS[4], KEYS[5], KEYS[9])
    unhold(KEYS[6], KEYS[7], KEYS[8], ARGV[5])
    return 1
    """)

  /// Moves a retried or scheduled job to the front of its queue.
  ///
  /// KEYS
  ///   1  the locator
  ///   2  the retried jobs
  ///   3  the scheduled jobs
  ///   4  the queue
  ///   5  the seal
  /// ARGV
  ///   1  a seal, for a queue that has none
  /// Returns 1, or 0 if the job is not there any more. An error if the queue's key is not a list.
  static let runDue = RedisScript(
    """
    \(locating)
    local found = redis.call('TYPE', KEYS[4]).ok
    if found ~= 'none' and found ~= 'list' then return redis.call('LLEN', KEYS[4]) end
    local sets = {r = KEYS[2], s = KEYS[3]}
    local letter, score, element = locate(KEYS[1], sets)
    if not element then return 0 end
    redis.call('ZREM', sets[letter], element)
    redis.call('SET', KEYS[5], ARGV[1], 'NX')
    redis.call('RPUSH', KEYS[4], '\(Seal.marker)' .. redis.call('GET', KEYS[5]) .. ' ' .. element)
    redis.call('DEL', KEYS[1])
    return 1
    """)

  /// Marks an id as cancelled. Each mark ends later than the one before, so that workers can read the marks since the
  /// last one that they know.
  ///
  /// KEYS
  ///   1  the control string
  ///   2  the cancelled ids
  /// ARGV
  ///   1  the id
  ///   2  how long the mark stays, in ms
  ///   3  marks at most
  /// Returns 1, or 0 if there are too many marks.
  static let mark = RedisScript(
    """
    \(changing)
    if not redis.call('ZSCORE', KEYS[2], ARGV[1]) and redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[3]) then return 0 end
    local time = redis.call('TIME')
    local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2]
    local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
    if last then ends = math.max(ends, last + 1) end
    redis.call('PERSIST', KEYS[2])
    redis.call('ZADD', KEYS[2], string.format('%.0f', ends), ARGV[1])
    change(KEYS[1], 'C', '')
    return 1
    """)

  /// Lists the elements of a list that may be the job with an id: those that contain the id, whole, and the envelopes of
  /// those that name no id.
  ///
  /// KEYS
  ///   1  the list
  ///   2  the seal
  /// ARGV
  ///   1  the id
  ///   2  the first place, counted from the right
  ///   3  places at most
  ///   4  bytes after which no further element is read
  ///   5  `sealed` if only elements with the seal have an envelope
  /// Returns {length of the list, places read, [[place, element]…], [[place, envelope]…]}.
  static let look = RedisScript(
    """
    local length = redis.call('LLEN', KEYS[1])
    local seal = '\(Seal.marker)' .. (redis.call('MGET', KEYS[2])[1] or '') .. ' '
    local place, most, bytes = tonumber(ARGV[2]), tonumber(ARGV[3]), 0
    local whole, nameless, read, chunk, largest = {}, {}, 0, \(QueueLimits.firstLookChunk), 1
    while place < length and read < most and bytes < tonumber(ARGV[4]) do
      local some = redis.call('LRANGE', KEYS[1], -place - math.min(chunk, most - read), -place - 1)
      for i = #some, 1, -1 do
        local element = some[i]
        bytes, largest = bytes + #element, math.max(largest, #element)
        local isEnveloped = ARGV[5] ~= 'sealed'
        if string.sub(element, 1, #seal) == seal then
          element, isEnveloped = string.sub(element, #seal + 1), true
        end
        if string.find(element, ARGV[1], 1, true) then
          whole[#whole + 1] = {place, string.sub(element, 1, \(QueueLimits.lookElementBytes))}
        elseif isEnveloped and not string.find(element, '"id"', 1, true) then
          nameless[#nameless + 1] = {place, string.match(element, '^(MARTLET1 %d+ %d+ %S+ )') or ''}
        end
        place, read = place + 1, read + 1
      end
      -- No more than the bytes allow, by the size of those that were read.
      chunk = math.min(chunk * 2, \(QueueLimits.lookChunk), math.max(1, math.floor((ARGV[4] - bytes) / largest)))
    end
    return {length, read, whole, nameless}
    """)
}

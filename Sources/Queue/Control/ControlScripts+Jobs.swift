import Events
import Redis

/// How operators find, cancel and advance jobs.
extension ControlScripts {
  /// Finds a retried, scheduled or dead job. Returns {letter, score, element}, or false.
  static let findDue = RedisScript(
    keys: ["due", "retry", "scheduled", "dead"],
    """
    \(locating)
    local letter, score, element = locate(due, {r = retry, s = scheduled, d = dead})
    return element and {letter, score, element} or false
    """)

  /// Removes a retried or scheduled job for good.
  ///
  /// - `record`, `reply`, `stream`: where the other arguments go, or `due` for none. The event is written only if there is a
  ///   stream of events.
  /// - `head`: the beginning of the element: the job may have moved on.
  /// - `json`, `ttl`, `author`: the record, its TTL in ms, the author of the record before.
  /// - `event`: JSON, or empty.
  ///
  /// Returns 1, or 0 if the job is not there any more.
  static let cancelDue = RedisScript(
    keys: ["due", "retry", "scheduled", "record", "reply", "stream"],
    arguments: ["head", "json", "ttl", "author", "event"],
    """
    \(QueueScripts.writing)
    \(QueueScripts.answering)
    \(locating)
    local sets = {r = retry, s = scheduled}
    local letter, score, element = locate(due, sets)
    if not element or string.sub(element, 1, #head) ~= head then return 0 end
    redis.call('ZREM', sets[letter], element)
    redis.call('DEL', due)
    if record ~= due then write(record, json, ttl, author) end
    if reply ~= due then answer(reply, json) end
    if stream ~= due and redis.pcall('EXISTS', stream) == 1 then
      \(EventStream.append(to: "stream", "event"))
    end
    return 1
    """)

  /// Lua: `advance(due, set, element, queue, seal, word)` moves a job of a sorted set to the front of its queue. `word` is a
  /// seal, for a queue that has none.
  private static let advancing = """
    local function advance(due, set, element, queue, seal, word)
      redis.call('ZREM', set, element)
      redis.call('SET', seal, word, 'NX')
      redis.call('RPUSH', queue, '\(Seal.marker)' .. redis.call('GET', seal) .. ' ' .. element)
      redis.call('DEL', due)
    end
    """

  /// Moves a retried or scheduled job to the front of its queue, but no paused broadcast. `word` is a seal, for a queue that
  /// has none.
  ///
  /// Returns 1, or 0 if the job is not there any more. An error if the queue's key is not a list.
  static let runDue = RedisScript(
    keys: ["due", "retry", "scheduled", "queue", "seal"], arguments: ["word"],
    """
    \(locating)
    \(advancing)
    local kind = redis.call('TYPE', queue).ok
    if kind ~= 'none' and kind ~= 'list' then return redis.call('LLEN', queue) end
    local sets = {r = retry, s = scheduled}
    local letter, score, element = locate(due, sets)
    if not element or tonumber(score) == \(QueueLimits.withoutDate) then return 0 end
    advance(due, sets[letter], element, queue, seal, word)
    return 1
    """)

  /// Resumes a broadcast, which is not cancelled any more, and moves its job to the front of the queue. `word` is a seal, for
  /// a queue that has none.
  ///
  /// Returns 1, or 0 if it was not paused. An error if the queue's key is not a list.
  static let release = RedisScript(
    keys: ["control", "held", "due", "scheduled", "queue", "seal", "cancelled"], arguments: ["id", "word"],
    """
    \(changing)
    \(unpausing)
    \(locating)
    \(advancing)
    local kind = redis.call('TYPE', queue).ok
    if kind ~= 'none' and kind ~= 'list' then return redis.call('LLEN', queue) end
    redis.pcall('ZREM', cancelled, id)
    local wasPaused = unpause(control, held, id)
    local _, score, element = locate(due, {s = scheduled})
    if not element or tonumber(score) ~= \(QueueLimits.withoutDate) then return wasPaused and 1 or 0 end
    advance(due, scheduled, element, queue, seal, word)
    return 1
    """)

  /// Marks an id as cancelled. Each mark ends later than the one before, so that workers can read the marks since the
  /// last one that they know.
  ///
  /// `ttl`: how long the mark stays, in ms. `most`: marks at most.
  ///
  /// Returns 1, or 0 if there are too many marks.
  static let mark = RedisScript(
    keys: ["control", "cancelled"], arguments: ["id", "ttl", "most"],
    """
    \(changing)
    if not redis.call('ZSCORE', cancelled, id) and redis.call('ZCARD', cancelled) >= tonumber(most) then return 0 end
    local time = redis.call('TIME')
    local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ttl
    local last = redis.call('ZRANGE', cancelled, -1, -1, 'WITHSCORES')[2]
    if last then ends = math.max(ends, last + 1) end
    redis.call('PERSIST', cancelled)
    redis.call('ZADD', cancelled, string.format('%.0f', ends), id)
    change(control, 'C', '')
    return 1
    """)

  /// Lists the elements of a list that may be the job with an id: those that contain the id, whole, and the envelopes of
  /// those that name no id.
  ///
  /// - `first`, `most`, `limit`: the first place, counted from the right, places at most, and bytes after which no further
  ///   element is read.
  /// - `sealed`: 1 if only elements with the seal have an envelope.
  ///
  /// Returns {length of the list, places read, [[place, element]…], [[place, envelope]…]}.
  static let look = RedisScript(
    keys: ["list", "seal"], arguments: ["id", "first", "most", "limit", "sealed"],
    """
    local length, word = redis.call('LLEN', list), redis.call('MGET', seal)[1] or ''
    local marker = '\(Seal.marker)' .. word .. ' '
    local place, bytes, read, chunk, largest = tonumber(first), 0, 0, \(QueueLimits.firstLookChunk), 1
    local whole, nameless = {}, {}
    most, limit = tonumber(most), tonumber(limit)
    while place < length and read < most and bytes < limit do
      local some = redis.call('LRANGE', list, -place - math.min(chunk, most - read), -place - 1)
      for i = #some, 1, -1 do
        local element, isEnveloped = some[i], sealed ~= '1'
        bytes, largest = bytes + #element, math.max(largest, #element)
        if string.sub(element, 1, #marker) == marker then
          element, isEnveloped = string.sub(element, #marker + 1), true
        end
        if string.find(element, id, 1, true) then
          whole[#whole + 1] = {place, string.sub(element, 1, \(QueueLimits.lookElementBytes))}
        elseif isEnveloped and not string.find(element, '"id"', 1, true) then
          nameless[#nameless + 1] = {place, string.match(element, '^(MARTLET1 %d+ %d+ %S+ )') or ''}
        end
        place, read = place + 1, read + 1
      end
      -- No more than the bytes allow, by the size of those that were read.
      chunk = math.min(chunk * 2, \(QueueLimits.lookChunk), math.max(1, math.floor((limit - bytes) / largest)))
    end
    return {length, read, whole, nameless}
    """)
}

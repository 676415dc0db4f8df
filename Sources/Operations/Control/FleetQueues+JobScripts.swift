import Events
import Queue
import Redis

extension FleetQueues {
  /// Marks an id as cancelled. Each mark ends later than the one before, so that workers can read the marks since the
  /// last one that they know.
  ///
  /// `ttl`: how long the mark stays, in ms. `most`: marks at most.
  ///
  /// Returns 1, or 0 if there are too many marks.
  static let mark = RedisScript(
    keys: ["control", "cancelled"], arguments: ["id", "ttl", "most"],
    """
    \(ControlScripts.changing)
    if not redis.call('ZSCORE', cancelled, id) and redis.call('ZCARD', cancelled) >= tonumber(most) then return 0 end
    \(RedisScript.clock)
    local ends = now + ttl
    local last = redis.call('ZRANGE', cancelled, -1, -1, 'WITHSCORES')[2]
    if last then ends = math.max(ends, last + 1) end
    redis.call('PERSIST', cancelled)
    redis.call('ZADD', cancelled, string.format('%.0f', ends), id)
    change(control, 'C', '')
    return 1
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
    \(ControlScripts.locating)
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
  /// seal, for a queue that has none. The seal is read before the first write.
  nonisolated static let advancing = """
    local function advance(due, set, element, queue, seal, word)
      local known = redis.call('GET', seal)
      redis.call('ZREM', set, element)
      if not known then redis.call('SET', seal, word) end
      redis.call('RPUSH', queue, '\(Seal.marker)' .. (known or word) .. ' ' .. element)
      redis.call('DEL', due)
    end
    """

  /// Moves a retried or scheduled job to the front of its queue, but no paused broadcast. `word` is a seal, for a queue that
  /// has none.
  ///
  /// Returns 1, or 0 if the job is not there any more. An error if the queue's key is not a list, or the seal's not a string.
  static let runDue = RedisScript(
    keys: ["due", "retry", "scheduled", "queue", "seal"], arguments: ["word"],
    """
    \(ControlScripts.locating)
    \(FleetQueues.advancing)
    local kind = redis.call('TYPE', queue).ok
    if kind ~= 'none' and kind ~= 'list' then return redis.call('LLEN', queue) end
    local sets = {r = retry, s = scheduled}
    local letter, score, element = locate(due, sets)
    if not element or tonumber(score) == \(QueueLimits.withoutDate) then return 0 end
    advance(due, sets[letter], element, queue, seal, word)
    return 1
    """)
}

import Events
import Jobs
import Queue
import Redis

/// The atomic steps by which operators read and steer queues. See ``QueueScripts`` for what all scripts observe.
enum OperationsScripts {
  // MARK: - Queues and workers

  /// Pauses a queue, unless it is paused. `reason`: JSON of ``QueuePause``. Returns the control string.
  private static let pauseScript = RedisScript(
    keys: ["control"], arguments: ["reason"],
    """
    \(QueueScripts.changing)
    local old = redis.call('GET', control)
    if old and string.find(old, '\(QueueScripts.pausedPattern)') then return old end
    return change(control, 'P', '', '\\n' .. reason)
    """)

  static func pause(control: String, reason: [UInt8]) -> RedisCall {
    pauseScript.call(keys: control, arguments: reason)
  }

  /// Resumes a queue. Returns 1, or 0 if the queue was not paused.
  private static let resumeScript = RedisScript(
    keys: ["control"],
    """
    \(QueueScripts.changing)
    local old = redis.call('GET', control)
    if not old or not string.find(old, '\(QueueScripts.pausedPattern)') then return 0 end
    change(control, '', 'P', '')
    return 1
    """)

  static func resume(control: String) -> RedisCall {
    resumeScript.call(keys: control)
  }

  /// Changes whether a worker is drained. `verb`: `drain` or `undrain`. Returns 1, or 0 if the worker is not one of the queue.
  private static let drainScript = RedisScript(
    keys: ["control", "drained", "workers"], arguments: ["worker", "verb"],
    """
    \(QueueScripts.changing)
    if verb == 'drain' then
      if redis.call('SISMEMBER', workers, worker) == 0 then return 0 end
      redis.call('PERSIST', drained)
      redis.call('SADD', drained, worker)
      change(control, 'D', '')
      return 1
    end
    local count = redis.call('SCARD', drained)
    if redis.call('SREM', drained, worker) == 0 then return 0 end
    if count == 1 then change(control, '', 'D') else change(control, 'D', '') end
    return 1
    """)

  static func drain(control: String, drained: String, workers: String, worker: String, verb: String) -> RedisCall {
    drainScript.call(keys: control, drained, workers, arguments: worker, verb)
  }

  // MARK: - Jobs

  /// Finds a retried, scheduled or dead job. Returns {letter, score, element}, or false.
  private static let findDueScript = RedisScript(
    keys: ["due", "retry", "scheduled", "dead"],
    """
    \(QueueScripts.locating)
    local letter, score, element = locate(due, {r = retry, s = scheduled, d = dead})
    return element and {letter, score, element} or false
    """)

  static func findDue(due: String, retry: String, scheduled: String, dead: String) -> RedisCall {
    findDueScript.call(keys: due, retry, scheduled, dead)
  }

  /// Marks an id as cancelled. Each mark ends later than the one before, so that workers can read the marks since the
  /// last one that they know.
  ///
  /// `ttl`: how long the mark stays, in ms. `most`: marks at most.
  ///
  /// Returns 1, or 0 if there are too many marks.
  private static let markScript = RedisScript(
    keys: ["control", "cancelled"], arguments: ["id", "ttl", "most"],
    """
    \(QueueScripts.changing)
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

  static func mark(control: String, cancelled: String, id: String, ttl: Int64, most: Int) -> RedisCall {
    markScript.call(keys: control, cancelled, arguments: id, ttl, most)
  }

  /// Removes a retried or scheduled job for good.
  ///
  /// - `record`, `reply`, `stream`: where the other arguments go, or `due` for none. The event is written only if there is a
  ///   stream of events.
  /// - `head`: the beginning of the element: the job may have moved on.
  /// - `json`, `ttl`, `author`: the record, its TTL in ms, the author of the record before.
  /// - `event`: JSON, or empty.
  ///
  /// Returns 1, or 0 if the job is not there any more.
  private static let cancelDueScript = RedisScript(
    keys: ["due", "retry", "scheduled", "record", "reply", "stream"],
    arguments: ["head", "json", "ttl", "author", "event"],
    """
    \(QueueScripts.writing)
    \(QueueScripts.answering)
    \(QueueScripts.locating)
    local sets = {r = retry, s = scheduled}
    local letter, score, element = locate(due, sets)
    if not element or string.sub(element, 1, #head) ~= head then return 0 end
    redis.call('ZREM', sets[letter], element)
    redis.call('DEL', due)
    if record ~= due then write(record, json, ttl, author, nil, due) end
    if reply ~= due then answer(reply, json) end
    if stream ~= due and redis.pcall('EXISTS', stream) == 1 then
      \(EventStream.append(to: "stream", "event"))
    end
    return 1
    """)

  static func cancelDue(
    due: String, retry: String, scheduled: String, record: String, reply: String, stream: String, head: [UInt8],
    json: [UInt8], ttl: Int64, author: String, event: [UInt8]
  ) -> RedisCall {
    cancelDueScript.call(keys: due, retry, scheduled, record, reply, stream, arguments: head, json, ttl, author, event)
  }

  /// Moves a retried or scheduled job to the front of its queue, but no paused broadcast. `word` is a seal, for a queue that
  /// has none.
  ///
  /// Returns 1, or 0 if the job is not there any more. An error if the queue's key is not a list, or the seal's not a string.
  private static let runDueScript = RedisScript(
    keys: ["due", "retry", "scheduled", "queue", "seal"], arguments: ["word"],
    """
    \(QueueScripts.locating)
    \(advancing)
    local kind = redis.call('TYPE', queue).ok
    if kind ~= 'none' and kind ~= 'list' then return redis.call('LLEN', queue) end
    local sets = {r = retry, s = scheduled}
    local letter, score, element = locate(due, sets)
    if not element or tonumber(score) == \(QueueLimits.withoutDate) then return 0 end
    advance(due, sets[letter], element, queue, seal, word)
    return 1
    """)

  static func runDue(due: String, retry: String, scheduled: String, queue: String, seal: String, word: String)
    -> RedisCall
  {
    runDueScript.call(keys: due, retry, scheduled, queue, seal, arguments: word)
  }

  /// Removes a letter, and moves its job to the back of the queue unless it is purged. The job of a letter that was not
  /// read whole stays as it is.
  ///
  /// - `score`, `length`, `letter`: its score, its length in bytes, and the letter or its beginning.
  /// - `requeued`: the element for the queue; empty to purge.
  /// - `id`: a job that is requeued is not cancelled any more.
  /// - `word`: a seal, for a queue that has none.
  ///
  /// Returns 1, or 0 if the letter is gone. An error if the queue's key is not a list, or the seal's not a string.
  private static let takeLetterScript = RedisScript(
    keys: ["dead", "queue", "seal", "cancelled"], arguments: ["score", "length", "letter", "requeued", "id", "word"],
    """
    local kind, element = redis.call('TYPE', queue).ok, requeued
    if requeued ~= '' and kind ~= 'none' and kind ~= 'list' then return redis.call('LLEN', queue) end
    local known = requeued ~= '' and redis.call('GET', seal)
    length = tonumber(length)
    local function whole()
      for i = 0, redis.call('ZCOUNT', dead, score, score) - 1 do
        local found = redis.call('ZRANGE', dead, score, score, 'BYSCORE', 'LIMIT', i, 1)[1]
        if #found == length and string.sub(found, 1, #letter) == letter then return found end
      end
    end
    if #letter < length then
      letter = whole()
      element = letter and string.sub(letter, string.find(letter, '\\n', 1, true) + 1)
      collectgarbage()
    end
    if not letter or redis.call('ZREM', dead, letter) == 0 then return 0 end
    if requeued ~= '' then
      redis.pcall('ZREM', cancelled, id)
      if not known then redis.call('SET', seal, word) end
      redis.call('LPUSH', queue, '\(Seal.marker)' .. (known or word) .. ' ' .. element)
    end
    return 1
    """)

  static func takeLetter(
    dead: String, queue: String, seal: String, cancelled: String, score: String, length: Int, letter: [UInt8],
    requeued: [UInt8], id: String, word: String
  ) -> RedisCall {
    takeLetterScript.call(keys: dead, queue, seal, cancelled, arguments: score, length, letter, requeued, id, word)
  }

  /// Lua: `advance(due, set, element, queue, seal, word)` moves a job of a sorted set to the front of its queue. `word` is a
  /// seal, for a queue that has none. The seal is read before the first write.
  private static let advancing = """
    local function advance(due, set, element, queue, seal, word)
      local known = redis.call('GET', seal)
      redis.call('ZREM', set, element)
      if not known then redis.call('SET', seal, word) end
      redis.call('RPUSH', queue, '\(Seal.marker)' .. (known or word) .. ' ' .. element)
      redis.call('DEL', due)
    end
    """

  // MARK: - Broadcasts

  /// Pauses a broadcast. `reason`: JSON of ``QueuePause``. `most`: paused broadcasts at most.
  ///
  /// Returns 1, also if it was paused already; 0 if there are too many; -1 if it has ended, which its worker writes before
  /// it settles the job.
  private static let pauseBroadcastScript = RedisScript(
    keys: ["control", "pauses", "broadcast"], arguments: ["id", "reason", "most"],
    """
    \(QueueScripts.changing)
    local known = redis.call('MGET', broadcast)[1] or ''
    for _, state in ipairs({'finished', 'cancelled'}) do
      if string.find(known, '"state":"' .. state .. '"', 1, true) then return -1 end
    end
    if redis.call('HEXISTS', pauses, id) == 1 then return 1 end
    if redis.call('HLEN', pauses) >= tonumber(most) then return 0 end
    redis.call('PERSIST', pauses)
    redis.call('HSET', pauses, id, reason)
    change(control, 'B', '')
    return 1
    """)

  static func pauseBroadcast(control: String, pauses: String, broadcast: String, id: String, reason: [UInt8], most: Int)
    -> RedisCall
  {
    pauseBroadcastScript.call(keys: control, pauses, broadcast, arguments: id, reason, most)
  }

  /// Resumes a broadcast, which is not cancelled any more, and moves its job to the front of the queue. `word` is a seal, for
  /// a queue that has none.
  ///
  /// Returns 1, or 0 if it was not paused. An error if the queue's key is not a list, or the seal's not a string.
  private static let resumeBroadcastScript = RedisScript(
    keys: ["control", "pauses", "due", "scheduled", "queue", "seal", "cancelled"], arguments: ["id", "word"],
    """
    \(QueueScripts.changing)
    \(QueueScripts.unpausing)
    \(QueueScripts.locating)
    \(advancing)
    local kind = redis.call('TYPE', queue).ok
    if kind ~= 'none' and kind ~= 'list' then return redis.call('LLEN', queue) end
    local _, score, element = locate(due, {s = scheduled})
    local waits = element and tonumber(score) == \(QueueLimits.withoutDate)
    if waits then advance(due, scheduled, element, queue, seal, word) end
    redis.pcall('ZREM', cancelled, id)
    return (unpause(control, pauses, id) or waits) and 1 or 0
    """)

  static func resumeBroadcast(
    control: String, pauses: String, due: String, scheduled: String, queue: String, seal: String, cancelled: String,
    id: String, word: String
  ) -> RedisCall {
    resumeBroadcastScript.call(keys: control, pauses, due, scheduled, queue, seal, cancelled, arguments: id, word)
  }

  // MARK: - Reading

  /// - `kind`: `list` or `set`.
  /// - `first`, `step`: the index of the first element, and 1 or -1.
  /// - `low`, `high`: scores of members that are passed over, too; or empty.
  /// - `most`, `wanted`: elements, and elements with both needles, at most.
  /// - `needle`, `other`: what an element contains; or empty.
  /// - `rest`: bytes that are read of an element of a list without them.
  /// - `whole`, `beginning`: bytes of an element that is read whole, at most, and bytes that are read of a longer one.
  /// - `line`: the pattern of what is returned of these.
  ///
  /// Returns 1 if there is no further element, else 0, then {score, length, bytes} of each element with both needles, and of
  /// each other one the bytes that are read of it, or its score.
  private static let readScript = RedisScript(
    keys: ["key"],
    arguments: [
      "kind", "first", "step", "low", "high", "most", "wanted", "needle", "other", "rest", "whole", "beginning", "line",
    ],
    """
    first, most, wanted, whole = tonumber(first), tonumber(most), tonumber(wanted), tonumber(whole)
    if low ~= '' then first = first + step * redis.call('ZCOUNT', key, low, high) end
    local answer, bytes, read = {0}, 0, 0
    while answer[1] == 0 and read < most and wanted > 0 and bytes < \(BoundedRead.examinedBytes) do
      local from, found, width = first + step * read, nil, 1
      local to = from + step * \(BoundedRead.chunk - 1)
      if step == '-1' then from, to = to, from end
      if kind == 'list' then
        found = redis.call('LRANGE', key, from, to)
      else
        found, width = redis.call('ZRANGE', key, from, to, 'WITHSCORES'), 2
      end
      local count, taken = #found / width, 0
      while taken < count and read < most and wanted > 0 and bytes < \(BoundedRead.examinedBytes) do
        local at = width * (step == '1' and taken or count - 1 - taken)
        local element, score = found[at + 1], width == 2 and found[at + 2] or ''
        local part = width == 2 and score or string.sub(element, 1, rest)
        if string.find(element, needle, 1, true) and string.find(element, other, 1, true) then
          wanted = wanted - 1
          local kept = #element > whole and beginning or whole
          part = {score, #element, string.match(string.sub(element, 1, kept), line)}
        end
        answer[#answer + 1] = part
        taken, read, bytes = taken + 1, read + 1, bytes + #element
      end
      if count < \(BoundedRead.chunk) and taken == count then answer[1] = 1 end
    end
    if bytes >= \(BoundedRead.examinedBytes) then collectgarbage() end
    return answer
    """)

  static func read(
    key: String, kind: String, first: Int, step: Int, low: String, high: String, most: Int, wanted: Int,
    needle: [UInt8], other: [UInt8], rest: Int, whole: Int, beginning: Int, line: String
  ) -> RedisCall {
    readScript.call(
      keys: key, arguments: kind, first, step, low, high, most, wanted, needle, other, rest, whole, beginning, line)
  }
}

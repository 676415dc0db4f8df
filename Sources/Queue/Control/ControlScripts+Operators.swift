import Redis

/// What operators ask of queues, broadcasts and workers.
extension ControlScripts {
  /// Pauses a queue, unless it is paused.
  ///
  /// KEYS
  ///   1  the control string
  /// ARGV
  ///   1  the pause, JSON
  /// Returns the control string.
  static let pause = RedisScript(
    """
    \(changing)
    local old = redis.call('GET', KEYS[1])
    if old and string.find(old, '\(pausedPattern)') then return old end
    return change(KEYS[1], 'P', '', '\\n' .. ARGV[1])
    """)

  /// Resumes a queue.
  ///
  /// KEYS
  ///   1  the control string
  /// Returns 1, or 0 if the queue was not paused.
  static let resume = RedisScript(
    """
    \(changing)
    local old = redis.call('GET', KEYS[1])
    if not old or not string.find(old, '\(pausedPattern)') then return 0 end
    change(KEYS[1], '', 'P', '')
    return 1
    """)

  /// Pauses a broadcast.
  ///
  /// KEYS
  ///   1  the control string
  ///   2  the paused broadcasts
  ///   3  what is known of the broadcast
  /// ARGV
  ///   1  the id
  ///   2  since when and by whom, JSON
  ///   3  paused broadcasts at most
  /// Returns 1, also if it was paused already; 0 if there are too many; -1 if it has ended, which its worker writes before
  /// it settles the job.
  static let hold = RedisScript(
    """
    \(changing)
    local known = redis.call('MGET', KEYS[3])[1] or ''
    for _, state in ipairs({'finished', 'cancelled'}) do
      if string.find(known, '"state":"' .. state .. '"', 1, true) then return -1 end
    end
    if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 1 end
    if redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[3]) then return 0 end
    redis.call('PERSIST', KEYS[2])
    redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
    change(KEYS[1], 'B', '')
    return 1
    """)

  /// Resumes a broadcast, and moves its jobs to the front of the queue, as many as one script moves.
  ///
  /// KEYS
  ///   1  the control string
  ///   2  the paused broadcasts
  ///   3  the jobs of paused broadcasts
  ///   4  the queue
  ///   5  the seal
  ///   6  the cancelled ids
  /// ARGV
  ///   1  the id, which is not cancelled any more
  ///   2  a seal, for a queue that has none
  /// Returns 1, 2 if there are more jobs, or 0 if it was not paused. An error if the queue's key is not a list.
  static let release = RedisScript(
    """
    \(changing)
    local found = redis.call('TYPE', KEYS[4]).ok
    if found ~= 'none' and found ~= 'list' then return redis.call('LLEN', KEYS[4]) end
    redis.pcall('ZREM', KEYS[6], ARGV[1])
    local count, answer, moved, bytes, fields = redis.call('HLEN', KEYS[2]), 0, 0, 0, {}
    for _, field in ipairs(redis.call('HKEYS', KEYS[3])) do
      if string.match(field, '^%S+') == ARGV[1] then fields[#fields + 1] = field end
    end
    if redis.call('HDEL', KEYS[2], ARGV[1]) == 1 then
      answer = 1
      if count == 1 then change(KEYS[1], '', 'B') else change(KEYS[1], 'B', '') end
    end
    for _, field in ipairs(fields) do
      if moved >= \(QueueLimits.moveBatch) or bytes >= \(QueueLimits.claimBytes) then return 2 end
      local element = redis.call('HGET', KEYS[3], field)
      redis.call('HDEL', KEYS[3], field)
      redis.call('SET', KEYS[5], ARGV[2], 'NX')
      redis.call('RPUSH', KEYS[4], '\(Seal.marker)' .. redis.call('GET', KEYS[5]) .. ' ' .. element)
      answer, moved, bytes = 1, moved + 1, bytes + #element
    end
    return answer
    """)

  /// Finds a job of a paused broadcast.
  ///
  /// KEYS
  ///   1  the jobs of paused broadcasts
  /// ARGV
  ///   1  the id
  /// Returns [field, element], or false.
  static let heldJob = RedisScript(
    """
    for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
      if string.match(field, '^%S+') == ARGV[1] then return {field, redis.call('HGET', KEYS[1], field)} end
    end
    return false
    """)

  /// Removes a job of a paused broadcast for good, and its pause if it is the last one.
  ///
  /// KEYS
  ///   1  the control string
  ///   2  the paused broadcasts
  ///   3  the jobs of paused broadcasts
  ///   4  the record, or KEYS 1 for none
  ///   5  the reply list, or KEYS 1 for none
  ///   6  the stream of events, or KEYS 1 for none
  /// ARGV
  ///   1  the field
  ///   2  the record, JSON
  ///   3  its TTL in ms
  ///   4  the author of the record before
  ///   5  the id
  ///   6  the event, JSON
  /// Returns 1, or 0 if the job is not there any more.
  static let cancelHeld = RedisScript(
    """
    \(QueueScripts.writing)
    \(leaving)
    \(changing)
    \(unholding)
    if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 0 then return 0 end
    unhold(KEYS[1], KEYS[2], KEYS[3], ARGV[5], ARGV[1])
    redis.call('HDEL', KEYS[3], ARGV[1])
    leave(KEYS[1], KEYS[4], KEYS[5], KEYS[6])
    return 1
    """)

  /// Changes whether a worker is drained.
  ///
  /// KEYS
  ///   1  the control string
  ///   2  the drained workers
  ///   3  the workers
  /// ARGV
  ///   1  the worker
  ///   2  `drain` or `undrain`
  /// Returns 1, or 0 if the worker is not one of the queue.
  static let drain = RedisScript(
    """
    \(changing)
    if ARGV[2] == 'drain' then
      if redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 0 then return 0 end
      redis.call('PERSIST', KEYS[2])
      redis.call('SADD', KEYS[2], ARGV[1])
      change(KEYS[1], 'D', '')
      return 1
    end
    local count = redis.call('SCARD', KEYS[2])
    if redis.call('SREM', KEYS[2], ARGV[1]) == 0 then return 0 end
    if count == 1 then change(KEYS[1], '', 'D') else change(KEYS[1], 'D', '') end
    return 1
    """)
}

import Redis

/// What operators ask of queues, broadcasts and workers.
extension ControlScripts {
  /// Pauses a queue, unless it is paused. `reason`: JSON of ``QueuePause``. Returns the control string.
  static let pause = RedisScript(
    keys: ["control"], arguments: ["reason"],
    """
    \(changing)
    local old = redis.call('GET', control)
    if old and string.find(old, '\(pausedPattern)') then return old end
    return change(control, 'P', '', '\\n' .. reason)
    """)

  /// Resumes a queue. Returns 1, or 0 if the queue was not paused.
  static let resume = RedisScript(
    keys: ["control"],
    """
    \(changing)
    local old = redis.call('GET', control)
    if not old or not string.find(old, '\(pausedPattern)') then return 0 end
    change(control, '', 'P', '')
    return 1
    """)

  /// Pauses a broadcast. `reason`: JSON of ``QueuePause``. `most`: paused broadcasts at most.
  ///
  /// Returns 1, also if it was paused already; 0 if there are too many; -1 if it has ended, which its worker writes before
  /// it settles the job.
  static let hold = RedisScript(
    keys: ["control", "held", "broadcast"], arguments: ["id", "reason", "most"],
    """
    \(changing)
    local known = redis.call('MGET', broadcast)[1] or ''
    for _, state in ipairs({'finished', 'cancelled'}) do
      if string.find(known, '"state":"' .. state .. '"', 1, true) then return -1 end
    end
    if redis.call('HEXISTS', held, id) == 1 then return 1 end
    if redis.call('HLEN', held) >= tonumber(most) then return 0 end
    redis.call('PERSIST', held)
    redis.call('HSET', held, id, reason)
    change(control, 'B', '')
    return 1
    """)

  /// Changes whether a worker is drained. `verb`: `drain` or `undrain`. Returns 1, or 0 if the worker is not one of the queue.
  static let drain = RedisScript(
    keys: ["control", "drained", "workers"], arguments: ["worker", "verb"],
    """
    \(changing)
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
}

import Redis

/// Leases, and what the workers of a fleet do for each other.
extension QueueScripts {
  /// Begins or renews a lease. A heartbeat that has expired is written again if no reaper has taken the jobs.
  ///
  /// - `ttl`: that of the heartbeat, in ms.
  /// - `report`: the worker's report, JSON.
  /// - `word`: the seal that the worker knows, or proposes, for a queue that has none.
  ///
  /// Returns {state, length of the in-flight and the landing list, seal}, a ``HeartbeatAnswer``.
  static let heartbeat = RedisScript(
    keys: ["heartbeat", "workers", "inflight", "tombstone", "landing", "seal"],
    arguments: ["worker", "ttl", "report", "word"],
    """
    if redis.call('EXISTS', tombstone) == 1 then return {0, 0, word} end
    local state, known = 1, redis.call('GET', seal)
    local left = redis.call('LLEN', inflight) + redis.call('LLEN', landing)
    if redis.call('PEXPIRE', heartbeat, ttl) == 0 and redis.call('SISMEMBER', workers, worker) == 0 then state = 2 end
    redis.call('SADD', workers, worker)
    redis.call('SET', heartbeat, report, 'PX', ttl)
    if not known then redis.call('SET', seal, word) end
    return {state, left, known or word}
    """)

  /// Ends a lease. The worker's name stays for the reaper if jobs are left, or may still arrive.
  ///
  /// `wait`: how long jobs may still arrive, in ms; 0 if none can. Returns 1.
  static let leave = RedisScript(
    keys: ["heartbeat", "workers", "inflight", "promoter", "landing"], arguments: ["worker", "wait"],
    """
    local left = redis.call('LLEN', inflight) + redis.call('LLEN', landing)
    local isPromoter = redis.call('GET', promoter) == worker
    if left == 0 and wait == '0' then redis.call('SREM', workers, worker) end
    if isPromoter then redis.call('DEL', promoter) end
    if wait == '0' then redis.call('DEL', heartbeat) else redis.call('PEXPIRE', heartbeat, wait) end
    return 1
    """)

  /// Hands up to `most` jobs of a worker that leaves back to the front of the queue, the oldest first.
  ///
  /// Returns the number of jobs; 0 also if the queue's key is not a list or the seal is lost.
  static let handBackAll = RedisScript(
    keys: ["inflight", "landing", "queue", "seal"], arguments: ["most"],
    """
    \(placing)
    local kind, word = redis.call('TYPE', queue).ok, redis.call('GET', seal)
    if kind ~= 'none' and kind ~= 'list' or not word then return 0 end
    local landed = redis.call('LLEN', landing)
    local left = math.min(tonumber(most), landed + redis.call('LLEN', inflight))
    local back, bytes = 0, 0
    while back < left and bytes < \(QueueLimits.claimBytes) do
      local list, head = landing, ''
      if back >= landed then list, head = inflight, '\(Seal.marker)' .. word .. ' ' end
      local job = redis.call('LPOP', list)
      local refused = place(list, job, 'RPUSH', queue, head .. job)
      if refused then return refused end
      back = back + 1
      bytes = bytes + #job
    end
    return back
    """)

  /// Moves a dead worker's jobs back to the front of the queue, the oldest first, and buries those that have crashed
  /// too many workers. The tombstone fences the worker if it is still alive. What has landed and was not claimed goes
  /// back unchanged.
  ///
  /// - `most`, `crashes`: jobs at most, and crashes of a job at most.
  /// - `at`: the time in unix ms. `head`: the first line of a dead letter.
  /// - `ttl`: that of the tombstone, in ms.
  ///
  /// Returns {jobs left, jobs moved back, jobs buried, dead letters deleted because there were too many, the beginning of
  /// each buried element: what the fleet knows of it, and the first bytes of the job}; {-1, 0, 0, 0, {}} if the worker
  /// lives, the seal is lost, or a key holds another type.
  static let reap = RedisScript(
    keys: [
      "heartbeat", "inflight", "queue", "workers", "dead", "tombstone", "landing", "seal", "drained",
    ], arguments: ["worker", "most", "crashes", "at", "head", "ttl"],
    """
    \(placing)
    local word = redis.call('GET', seal)
    if redis.call('EXISTS', heartbeat) == 1 or not word then return {-1, 0, 0, 0, {}} end
    local kind, grave = redis.call('TYPE', queue).ok, redis.call('TYPE', dead).ok
    if kind ~= 'none' and kind ~= 'list' or grave ~= 'none' and grave ~= 'zset' then return {-1, 0, 0, 0, {}} end
    -- Fails before anything is moved if one of them has another type.
    redis.call('LLEN', inflight)
    redis.call('SCARD', workers)
    local back, buried, bytes, letters = 0, 0, 0, {}
    while back + buried < tonumber(most) and bytes < \(QueueLimits.claimBytes) do
      local job, refused = redis.call('LPOP', landing), nil
      if job then
        refused = place(landing, job, 'RPUSH', queue, job)
        back = back + 1
      else
        local held = redis.call('LPOP', inflight)
        if not held then break end
        job = held
        local _, last, count = string.find(job, '^MARTLET1 (%d+) ')
        local _, first, state = string.find(job, '^MARTLET1 %d+ %d+ %S+ (%d+)\\n')
        count = tonumber(count or 0) + 1
        if last then job = 'MARTLET1 ' .. count .. ' ' .. string.sub(job, last + 1) end
        if count > tonumber(crashes) then
          refused = place(inflight, held, 'ZADD', dead, at, head .. job)
          buried = buried + 1
          letters[buried] = string.sub(job, 1, (first or 0) + (state or 0) + \(QueueLimits.buriedBeginning))
        else
          if last then job = '\(Seal.marker)' .. word .. ' ' .. job end
          refused = place(inflight, held, 'RPUSH', queue, job)
          back = back + 1
        end
      end
      if refused then return refused end
      bytes = bytes + #job
    end
    local dropped = 0
    if buried > 0 then dropped = redis.call('ZREMRANGEBYRANK', dead, 0, \(-1 - QueueLimits.maximumDeadLetters)) end
    local left = redis.call('LLEN', inflight) + redis.call('LLEN', landing)
    redis.call('PEXPIRE', tombstone, ttl)
    redis.call('SET', tombstone, '', 'PX', ttl)
    if left == 0 then
      redis.call('SREM', workers, worker)
      redis.pcall('SREM', drained, worker)
    end
    return {left, back, buried, dropped, letters}
    """)

  /// Moves jobs that are due to the front of the queue, and elects the worker as promoter if the queue has none. The
  /// promoter also removes cancellations that have ended, and the flags of the control string that are not needed.
  ///
  /// `ttl`: that of the promoter, in ms. `most`: jobs at most, of each sorted set.
  ///
  /// Returns {jobs moved, ms until the next is due or -1, the control string or false}; {-1, -1, the control string} if
  /// another worker is the promoter, the seal is lost, or the queue's key is not a list. A ``PromotionAnswer``.
  static let promote = RedisScript(
    keys: ["promoter", "queue", "seal", "control", "cancelled", "drained", "retry", "scheduled"],
    arguments: ["worker", "ttl", "most"],
    """
    \(ControlScripts.changing)
    local found = redis.call('MGET', promoter, seal, control)
    local elected, word, asked = found[1], found[2], found[3]
    if elected and elected ~= worker then return {-1, -1, asked} end
    local kind = redis.call('TYPE', queue).ok
    if not word or kind ~= 'none' and kind ~= 'list' then return {-1, -1, asked} end
    word = '\(Seal.marker)' .. word .. ' '
    \(RedisScript.clock)
    local count, over, drains = 0, 0, 0
    if asked and string.find(asked, '^%d+ %u*C') then
      count, over = redis.call('ZCARD', cancelled), redis.call('ZCOUNT', cancelled, '-inf', now)
    end
    if asked and string.find(asked, '^%d+ %u*D') then drains = redis.call('SCARD', drained) end
    redis.call('PEXPIRE', promoter, ttl)
    local moved, wait, left = 0, -1, 0
    for _, set in ipairs({retry, scheduled}) do
      local waiting = redis.call('ZCARD', set)
      local due = redis.call('ZRANGE', set, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)
      for i = #due, 1, -1 do
        redis.call('ZREM', set, due[i])
        local pushed = redis.pcall('RPUSH', queue, word .. due[i])
        if type(pushed) == 'table' then
          redis.call('ZADD', set, now, due[i])
          return pushed
        end
        moved = moved + 1
      end
      left = waiting - #due
      local next = left > 0 and redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
      if next then
        local due = math.max(0, math.ceil(next - now))
        if wait < 0 or due < wait then wait = due end
      end
    end
    if asked then
      local unused = ''
      if left == 0 then unused = 'S' end
      if string.find(asked, '^%d+ %u*C') then
        if over > 0 then redis.call('ZREMRANGEBYRANK', cancelled, 0, over - 1) end
        if over == count then unused = unused .. 'C' end
      end
      if string.find(asked, '^%d+ %u*D') and drains == 0 then unused = unused .. 'D' end
      if unused ~= '' and string.find(asked, '^%d+ %u*[' .. unused .. ']') then
        asked = change(control, '', '[' .. unused .. ']')
      end
    end
    redis.call('SET', promoter, worker, 'PX', ttl)
    return {moved, wait, asked}
    """)

  /// Moves jobs of broadcasts that an earlier version has paused to the front of the queue: who claims them pauses them
  /// again. Returns the number of jobs that are left, 0 also if the seal is lost or the queue's key is not a list.
  static let adoptPaused = RedisScript(
    keys: ["jobs", "queue", "seal"], arguments: ["most"],
    """
    local kind, word = redis.call('TYPE', queue).ok, redis.call('GET', seal)
    if not word or kind ~= 'none' and kind ~= 'list' or redis.call('TYPE', jobs).ok ~= 'hash' then return 0 end
    local fields = redis.call('HKEYS', jobs)
    for place = 1, math.min(#fields, tonumber(most)) do
      local job = redis.call('HGET', jobs, fields[place])
      redis.call('HDEL', jobs, fields[place])
      local pushed = redis.pcall('RPUSH', queue, '\(Seal.marker)' .. word .. ' ' .. job)
      if type(pushed) == 'table' then
        redis.call('HSET', jobs, fields[place], job)
        return pushed
      end
    end
    return math.max(0, #fields - most)
    """)
}

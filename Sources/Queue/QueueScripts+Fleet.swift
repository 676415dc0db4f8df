import Redis

/// Leases, and what the workers of a fleet do for each other.
extension QueueScripts {
  /// Begins a lease.
  ///
  /// KEYS
  ///   1  the heartbeat
  ///   2  the workers
  ///   3  the seal
  /// ARGV
  ///   1  the worker
  ///   2  the TTL of the heartbeat in ms
  ///   3  the worker's report, JSON
  ///   4  a seal, for a queue that has none
  /// Returns the queue's seal.
  static let join = RedisScript(
    """
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
    redis.call('SADD', KEYS[2], ARGV[1])
    redis.call('SET', KEYS[3], ARGV[4], 'NX')
    return redis.call('GET', KEYS[3])
    """)

  /// Renews a lease. A heartbeat that has expired is written again if no reaper has taken the jobs.
  ///
  /// KEYS
  ///   1  the heartbeat
  ///   2  the workers
  ///   3  the in-flight list
  ///   4  the tombstone
  ///   5  the landing list
  ///   6  the seal
  /// ARGV
  ///   1  the worker
  ///   2  the TTL of the heartbeat in ms
  ///   3  the worker's report, JSON
  ///   4  the seal that the worker knows, in case Redis has lost it
  /// Returns {state, length of the in-flight and the landing list, seal}, a ``HeartbeatAnswer``.
  static let heartbeat = RedisScript(
    """
    if redis.call('EXISTS', KEYS[4]) == 1 then return {0, 0, ARGV[4]} end
    local state = 1
    if redis.call('PEXPIRE', KEYS[1], ARGV[2]) == 0 and redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 0 then
      state = 2
    end
    redis.call('SADD', KEYS[2], ARGV[1])
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
    redis.call('SET', KEYS[6], ARGV[4], 'NX')
    return {state, redis.call('LLEN', KEYS[3]) + redis.call('LLEN', KEYS[5]), redis.call('GET', KEYS[6])}
    """)

  /// Ends a lease. The worker's name stays for the reaper if jobs are left, or may still arrive.
  ///
  /// KEYS
  ///   1  the heartbeat
  ///   2  the workers
  ///   3  the in-flight list
  ///   4  the promoter
  ///   5  the landing list
  /// ARGV
  ///   1  the worker
  ///   2  how long jobs may still arrive, in ms; 0 if none can
  /// Returns 1.
  static let leave = RedisScript(
    """
    if redis.call('GET', KEYS[4]) == ARGV[1] then redis.call('DEL', KEYS[4]) end
    local left = redis.call('LLEN', KEYS[3]) + redis.call('LLEN', KEYS[5])
    if left == 0 and ARGV[2] == '0' then redis.call('SREM', KEYS[2], ARGV[1]) end
    if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
    return 1
    """)

  /// Hands jobs of a worker that leaves back to the front of the queue, the oldest first.
  ///
  /// KEYS
  ///   1  the in-flight list
  ///   2  the landing list
  ///   3  the queue
  ///   4  the seal
  /// ARGV
  ///   1  jobs at most
  /// Returns the number of jobs; 0 also if the queue's key is not a list or the seal is lost.
  static let handBack = RedisScript(
    """
    local found = redis.call('TYPE', KEYS[3]).ok
    local seal = redis.call('GET', KEYS[4])
    if found ~= 'none' and found ~= 'list' or not seal then return 0 end
    local landed = redis.call('LLEN', KEYS[2])
    local most = math.min(tonumber(ARGV[1]), landed + redis.call('LLEN', KEYS[1]))
    local back, bytes = 0, 0
    while back < most and bytes < \(QueueLimits.claimBytes) do
      local job
      if back < landed then
        job = redis.call('LPOP', KEYS[2])
      else
        job = '\(Seal.marker)' .. seal .. ' ' .. redis.call('LPOP', KEYS[1])
      end
      redis.call('RPUSH', KEYS[3], job)
      back = back + 1
      bytes = bytes + #job
    end
    return back
    """)

  /// Moves a dead worker's jobs back to the front of the queue, the oldest first, and buries those that have crashed
  /// too many workers. The tombstone fences the worker if it is still alive. What has landed and was not claimed goes
  /// back unchanged.
  ///
  /// KEYS
  ///   1  the heartbeat
  ///   2  the in-flight list
  ///   3  the queue
  ///   4  the workers
  ///   5  the dead letters
  ///   6  the tombstone
  ///   7  the landing list
  ///   8  the seal
  ///   9  the workers that are drained
  /// ARGV
  ///   1  the worker
  ///   2  jobs at most
  ///   3  crashes of a job at most
  ///   4  the time in unix ms
  ///   5  the first line of a dead letter
  ///   6  the TTL of the tombstone in ms
  /// Returns {jobs left, jobs moved back, jobs buried, dead letters deleted because there were too many, the beginning of
  /// each buried element: what the fleet knows of it, and the first bytes of the job}; {-1, 0, 0, 0, {}} if the worker
  /// lives, the seal is lost, or a key holds another type.
  static let reap = RedisScript(
    """
    local seal = redis.call('GET', KEYS[8])
    if redis.call('EXISTS', KEYS[1]) == 1 or not seal then return {-1, 0, 0, 0, {}} end
    local queue, dead = redis.call('TYPE', KEYS[3]).ok, redis.call('TYPE', KEYS[5]).ok
    if queue ~= 'none' and queue ~= 'list' or dead ~= 'none' and dead ~= 'zset' then return {-1, 0, 0, 0, {}} end
    local back, buried, bytes, letters = 0, 0, 0, {}
    while back + buried < tonumber(ARGV[2]) and bytes < \(QueueLimits.claimBytes) do
      local job = redis.call('LPOP', KEYS[7])
      if job then
        redis.call('RPUSH', KEYS[3], job)
        back = back + 1
      else
        job = redis.call('LPOP', KEYS[2])
        if not job then break end
        local _, last, crashes = string.find(job, '^MARTLET1 (%d+) ')
        local _, head, state = string.find(job, '^MARTLET1 %d+ %d+ %S+ (%d+)\\n')
        crashes = tonumber(crashes or 0) + 1
        if last then job = 'MARTLET1 ' .. crashes .. ' ' .. string.sub(job, last + 1) end
        if crashes > tonumber(ARGV[3]) then
          redis.call('ZADD', KEYS[5], ARGV[4], ARGV[5] .. job)
          buried = buried + 1
          letters[buried] = string.sub(job, 1, (head or 0) + (state or 0) + \(QueueLimits.buriedBeginning))
        else
          if last then job = '\(Seal.marker)' .. seal .. ' ' .. job end
          redis.call('RPUSH', KEYS[3], job)
          back = back + 1
        end
      end
      bytes = bytes + #job
    end
    local dropped = 0
    if buried > 0 then dropped = redis.call('ZREMRANGEBYRANK', KEYS[5], 0, \(-1 - QueueLimits.maximumDeadLetters)) end
    local left = redis.call('LLEN', KEYS[2]) + redis.call('LLEN', KEYS[7])
    redis.call('PEXPIRE', KEYS[6], ARGV[6])
    redis.call('SET', KEYS[6], '', 'PX', ARGV[6])
    if left == 0 then
      redis.call('SREM', KEYS[4], ARGV[1])
      redis.pcall('SREM', KEYS[9], ARGV[1])
    end
    return {left, back, buried, dropped, letters}
    """)

  /// Moves jobs that are due to the front of the queue, and elects the worker as promoter if the queue has none. The
  /// promoter also removes cancellations that have ended, and the flags of the control string that are not needed.
  ///
  /// KEYS
  ///   1  the promoter
  ///   2  the queue
  ///   3  the seal
  ///   4  the control string
  ///   5  the cancelled ids
  ///   6  the workers that are drained
  ///   7  the retried jobs
  ///   8  the scheduled jobs
  /// ARGV
  ///   1  the worker
  ///   2  the TTL of the promoter in ms
  ///   3  jobs at most, of each sorted set
  /// Returns {jobs moved, ms until the next is due or -1, the control string or false}; {-1, -1, the control string} if
  /// another worker is the promoter, the seal is lost, or the queue's key is not a list. A ``PromotionAnswer``.
  static let promote = RedisScript(
    """
    \(ControlScripts.changing)
    local held = redis.call('MGET', KEYS[1], KEYS[3], KEYS[4])
    local promoter, seal, control = held[1], held[2], held[3]
    if promoter and promoter ~= ARGV[1] then return {-1, -1, control} end
    local queue = redis.call('TYPE', KEYS[2]).ok
    if not seal or queue ~= 'none' and queue ~= 'list' then return {-1, -1, control} end
    seal = '\(Seal.marker)' .. seal .. ' '
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    local moved, wait, left = 0, -1, 0
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    for k = 7, 8 do
      local count = redis.call('ZCARD', KEYS[k])
      local due = redis.call('ZRANGE', KEYS[k], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[3])
      for i = #due, 1, -1 do
        redis.call('ZREM', KEYS[k], due[i])
        redis.call('RPUSH', KEYS[2], seal .. due[i])
        moved = moved + 1
      end
      left = count - #due
      local next = left > 0 and redis.call('ZRANGE', KEYS[k], 0, 0, 'WITHSCORES')[2]
      if next then
        local due = math.max(0, math.ceil(next - now))
        if wait < 0 or due < wait then wait = due end
      end
    end
    if control then
      local unused = ''
      if left == 0 then unused = 'S' end
      if string.find(control, '^%d+ %u*C') then
        local count, over = redis.call('ZCARD', KEYS[5]), redis.call('ZCOUNT', KEYS[5], '-inf', now)
        if over > 0 then redis.call('ZREMRANGEBYRANK', KEYS[5], 0, over - 1) end
        if over == count then unused = unused .. 'C' end
      end
      if string.find(control, '^%d+ %u*D') and redis.call('SCARD', KEYS[6]) == 0 then unused = unused .. 'D' end
      if unused ~= '' and string.find(control, '^%d+ %u*[' .. unused .. ']') then
        control = change(KEYS[4], '', '[' .. unused .. ']')
      end
    end
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return {moved, wait, control}
    """)
}

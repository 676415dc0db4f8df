import Redis

/// What the workers of a fleet do for each other.
extension QueueScripts {
  /// Begins a lease; answers the queue's seal. KEYS heartbeat, workers, seal; ARGV worker, TTL in ms, report, a seal for a
  /// queue that has none.
  static let join = RedisScript(
    """
    redis.call('DEL', KEYS[1])
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
    redis.call('SADD', KEYS[2], ARGV[1])
    redis.call('SET', KEYS[3], ARGV[4], 'NX')
    return redis.call('GET', KEYS[3])
    """)

  /// Keeps the lease. KEYS heartbeat, workers, in-flight, tombstone, landing, seal; ARGV worker, TTL in ms, report, the seal
  /// as the worker knows it. Answers {state, length of in-flight and landing list, seal}: 1 held, 0 fenced, 2 Redis has lost
  /// what it knew of the worker. A heartbeat that has lapsed is taken up again as long as nobody has touched the jobs.
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

  /// Ends a lease. KEYS heartbeat, workers, in-flight, keeper, landing; ARGV worker, TTL in ms (0: no claim can arrive any
  /// more). With jobs left, or on their way, the name stays for the reaper.
  static let leave = RedisScript(
    """
    if redis.call('GET', KEYS[4]) == ARGV[1] then redis.call('DEL', KEYS[4]) end
    local left = redis.call('LLEN', KEYS[3]) + redis.call('LLEN', KEYS[5])
    if left == 0 and ARGV[2] == '0' then redis.call('SREM', KEYS[2], ARGV[1]) end
    if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
    return 1
    """)

  /// Takes what a worker that leaves still has back to the front of the queue, oldest in front.
  /// KEYS in-flight, landing, queue, seal; ARGV most at once. How many; 0 also when the queue's key is no list.
  static let handBack = RedisScript(
    """
    local found = redis.call('TYPE', KEYS[3]).ok
    local seal = redis.call('GET', KEYS[4])
    if found ~= 'none' and found ~= 'list' or not seal then return 0 end
    local back, bytes = 0, 0
    while back < tonumber(ARGV[1]) and bytes < \(QueueLimits.claimBytes) do
      local job = redis.call('LPOP', KEYS[2])
      if not job then
        job = redis.call('LPOP', KEYS[1])
        if not job then break end
        job = '\(Seal.marker)' .. seal .. ' ' .. job
      end
      redis.call('RPUSH', KEYS[3], job)
      back = back + 1
      bytes = bytes + #job
    end
    return back
    """)

  /// Takes a dead worker's jobs back to the front of the queue, oldest in front; one that has crashed too many workers
  /// is buried. KEYS heartbeat, in-flight, queue, workers, dead, tombstone, landing, seal; ARGV worker, most at once, most
  /// crashes, time of death in ms, head of a dead letter, TTL of the tombstone in ms. {-1}: it lives, or keys hold other
  /// types. Otherwise {left, taken back, buried, letters that had to go}. The tombstone tells the worker, should it wake.
  ///
  /// What has landed and was never claimed goes back as it is: whoever claims it next judges it.
  static let reap = RedisScript(
    """
    local seal = redis.call('GET', KEYS[8])
    if redis.call('EXISTS', KEYS[1]) == 1 or not seal then return {-1, 0, 0, 0} end
    local queue, dead = redis.call('TYPE', KEYS[3]).ok, redis.call('TYPE', KEYS[5]).ok
    if queue ~= 'none' and queue ~= 'list' or dead ~= 'none' and dead ~= 'zset' then return {-1, 0, 0, 0} end
    local back, buried, bytes = 0, 0, 0
    while back + buried < tonumber(ARGV[2]) and bytes < \(QueueLimits.claimBytes) do
      local job = redis.call('LPOP', KEYS[7])
      if job then
        redis.call('RPUSH', KEYS[3], job)
        back = back + 1
      else
        job = redis.call('LPOP', KEYS[2])
        if not job then break end
        local _, last, crashes = string.find(job, '^MARTLET1 (%d+) ')
        crashes = tonumber(crashes or 0) + 1
        if last then job = 'MARTLET1 ' .. crashes .. ' ' .. string.sub(job, last + 1) end
        if crashes > tonumber(ARGV[3]) then
          redis.call('ZADD', KEYS[5], ARGV[4], ARGV[5] .. job)
          buried = buried + 1
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
    if left == 0 then redis.call('SREM', KEYS[4], ARGV[1]) end
    return {left, back, buried, dropped}
    """)

  /// Moves what is due to the front of the queue. KEYS keeper, queue, seal, sorted set...; ARGV worker, keeper's TTL in ms,
  /// most at once. {-1}: another worker keeps the queue, or its key is no list. Otherwise {moved, ms to the next due or -1}.
  static let promote = RedisScript(
    """
    local keeper = redis.call('GET', KEYS[1])
    if keeper and keeper ~= ARGV[1] then return {-1, -1} end
    local seal, queue = redis.call('GET', KEYS[3]), redis.call('TYPE', KEYS[2]).ok
    if not seal or queue ~= 'none' and queue ~= 'list' then return {-1, -1} end
    seal = '\(Seal.marker)' .. seal .. ' '
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    local moved, wait = 0, -1
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    for k = 4, #KEYS do
      local due = redis.call('ZRANGE', KEYS[k], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[3])
      for i = #due, 1, -1 do
        redis.call('ZREM', KEYS[k], due[i])
        redis.call('RPUSH', KEYS[2], seal .. due[i])
        moved = moved + 1
      end
      local next = redis.call('ZRANGE', KEYS[k], 0, 0, 'WITHSCORES')[2]
      if next then
        local left = math.max(0, math.ceil(next - now))
        if wait < 0 or left < wait then wait = left end
      end
    end
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return {moved, wait}
    """)
}

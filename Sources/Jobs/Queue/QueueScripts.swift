import Redis

/// The steps of a job's life that must not be torn apart.
///
/// Each script's first write takes no memory (Redis lets it run when memory is full), every key is declared, and nothing
/// fails after a write: what may have been tampered with is checked first.
enum QueueScripts {
  static let all = [
    claim, adopt, acknowledge, settle, join, heartbeat, leave, reap, promote, commitProgress, keepNotification,
  ]

  /// Takes up to n jobs, oldest first, and gives each producer's element its envelope.
  /// KEYS queue, in-flight, heartbeat; ARGV n, nonce prefix. False: the heartbeat has lapsed.
  static let claim = RedisScript(
    """
    if redis.call('EXISTS', KEYS[3]) == 0 then return false end
    local jobs = redis.call('RPOP', KEYS[1], ARGV[1])
    if not jobs then return {} end
    for i, job in ipairs(jobs) do
      if string.sub(job, 1, 9) ~= 'MARTLET1 ' then
        job = 'MARTLET1 0 0 ' .. ARGV[2] .. i .. ' 0\\n' .. job
        jobs[i] = job
      end
      redis.call('LPUSH', KEYS[2], job)
    end
    return jobs
    """)

  /// Gives an element claimed by BLMOVE its envelope.
  /// May be repeated. KEYS in-flight; ARGV element, envelope. 0: the job was taken away.
  static let adopt = RedisScript(
    """
    if redis.call('LREM', KEYS[1], -1, ARGV[1]) == 0 then
      return redis.call('LPOS', KEYS[1], ARGV[2]) and 1 or 0
    end
    redis.call('LPUSH', KEYS[1], ARGV[2])
    return 1
    """)

  /// Ends many jobs, with their records. KEYS in-flight, a record key per job; ARGV record TTL in ms, `keep` for
  /// at-most-once (nothing is in flight), then element and record (empty: none) per job.
  /// Answers the places of the jobs that were taken away.
  static let acknowledge = RedisScript(
    """
    local lost = {}
    if ARGV[2] == 'keep' then redis.call('DEL', KEYS[1]) end
    for i = 2, #KEYS do
      local at = 2 * i - 1
      if ARGV[2] == 'keep' or redis.call('LREM', KEYS[1], -1, ARGV[at]) == 1 then
        local record = ARGV[at + 1]
        if record ~= '' then redis.call('SET', KEYS[i], record, 'PX', ARGV[1]) end
      else
        lost[#lost + 1] = i - 2
      end
    end
    return lost
    """)

  /// Moves one job on. KEYS in-flight, target (the queue, a sorted set, or the in-flight list for none), record, reply
  /// list (in-flight list for none), then of each reader of a notification record: stream, credentials, device; ARGV element, `keep` or `take`, verb, element in the target, score
  /// or delay in ms, most entries of the target, record, its TTL in ms, `NX` or empty, how many notification records, these, then of
  /// each reader: name, number of its record.
  /// 1 done, 0 taken away, -1 the target key holds another type.
  static let settle = RedisScript(
    """
    local verb = ARGV[3]
    local wanted = verb == 'handback' and 'list' or 'zset'
    if verb ~= 'done' then
      local found = redis.call('TYPE', KEYS[2]).ok
      if found ~= 'none' and found ~= wanted then return -1 end
    end
    if ARGV[2] == 'keep' then
      redis.call('DEL', KEYS[1])
    elseif redis.call('LREM', KEYS[1], -1, ARGV[1]) == 0 then
      return 0
    end
    if verb == 'handback' then
      redis.call('RPUSH', KEYS[2], ARGV[4])
    elseif verb ~= 'done' then
      local score = ARGV[5]
      if verb == 'delay' then
        local time = redis.call('TIME')
        score = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[5]
      end
      redis.call('ZADD', KEYS[2], score, ARGV[4])
      if ARGV[6] ~= '' then redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - ARGV[6]) end
    end
    if ARGV[7] ~= '' then
      if ARGV[9] == 'NX' then
        redis.call('SET', KEYS[3], ARGV[7], 'PX', ARGV[8], 'NX')
      else
        redis.call('SET', KEYS[3], ARGV[7], 'PX', ARGV[8])
      end
      if KEYS[4] ~= KEYS[1] then
        redis.pcall('LPUSH', KEYS[4], ARGV[7])
        redis.pcall('EXPIRE', KEYS[4], 3600)
      end
    end
    local names = 10 + ARGV[10]
    for key = 5, #KEYS, 3 do
      if redis.pcall('HEXISTS', KEYS[key + 1], ARGV[names + 1]) == 1 or redis.pcall('EXISTS', KEYS[key + 2]) == 1 then
        redis.pcall('XADD', KEYS[key], 'MAXLEN', '~', 1000, '*', 'notification', ARGV[10 + ARGV[names + 2]])
        redis.pcall('EXPIRE', KEYS[key], 2592000)
      end
      names = names + 2
    end
    return 1
    """)

  /// Keeps a notification record for readers that have none of the job among their latest: a broadcast comes to a reader
  /// once per device, and again after a crash. KEYS of each reader: stream, credentials, device; ARGV record, job id, then
  /// the name of each reader. How many were written; an error when Redis has no room, and then some were.
  static let keepNotification = RedisScript(
    """
    local head = '{"id":"' .. ARGV[2] .. '",'
    local function isKept(stream)
      local latest = redis.pcall('XREVRANGE', stream, '+', '-', 'COUNT', 20)
      for _, entry in ipairs(latest) do
        if string.sub(entry[2][2] or '', 1, #head) == head then return true end
      end
      return false
    end
    local written = 0
    for place = 3, #ARGV do
      local key = 3 * place - 8
      local isReadable = redis.pcall('HEXISTS', KEYS[key + 1], ARGV[place]) == 1
        or redis.pcall('EXISTS', KEYS[key + 2]) == 1
      if isReadable and not isKept(KEYS[key]) then
        local added = redis.pcall('XADD', KEYS[key], 'MAXLEN', '~', 1000, '*', 'notification', ARGV[1])
        if type(added) == 'table' and added.err and not string.find(added.err, '^WRONGTYPE') then return added end
        redis.pcall('EXPIRE', KEYS[key], 2592000)
        written = written + 1
      end
    end
    return written
    """)

  /// Begins a lease. KEYS heartbeat, workers; ARGV worker, TTL in ms, report.
  static let join = RedisScript(
    """
    redis.call('DEL', KEYS[1])
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
    redis.call('SADD', KEYS[2], ARGV[1])
    return 1
    """)

  /// Keeps the lease. KEYS heartbeat, workers, in-flight, tombstone; ARGV worker, TTL in ms, report.
  /// Answers {state, in-flight length}: 1 held, 0 fenced, 2 Redis has lost what it knew of the worker.
  /// A heartbeat that has lapsed is taken up again as long as nobody has touched the jobs.
  static let heartbeat = RedisScript(
    """
    if redis.call('EXISTS', KEYS[4]) == 1 then return {0, 0} end
    local state = 1
    if redis.call('PEXPIRE', KEYS[1], ARGV[2]) == 0 and redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 0 then
      state = 2
    end
    redis.call('SADD', KEYS[2], ARGV[1])
    redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[2])
    return {state, redis.call('LLEN', KEYS[3])}
    """)

  /// Ends a lease. KEYS heartbeat, workers, in-flight, keeper; ARGV worker, TTL in ms (0: no claim can arrive any more).
  /// With jobs left, or on their way, the name stays for the reaper.
  static let leave = RedisScript(
    """
    if redis.call('GET', KEYS[4]) == ARGV[1] then redis.call('DEL', KEYS[4]) end
    if redis.call('LLEN', KEYS[3]) == 0 and ARGV[2] == '0' then redis.call('SREM', KEYS[2], ARGV[1]) end
    if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
    return 1
    """)

  /// Takes a dead worker's jobs back to the front of the queue, oldest in front; one that has crashed too many workers
  /// is buried. KEYS heartbeat, in-flight, queue, workers, dead, tombstone; ARGV worker, most at once, most crashes, nonce
  /// prefix, time of death in ms, head of a dead letter, TTL of the tombstone in ms. {-1}: it lives. Otherwise {left, taken
  /// back, buried}. The tombstone tells the worker, should it wake.
  static let reap = RedisScript(
    """
    if redis.call('EXISTS', KEYS[1]) == 1 then return {-1, 0, 0} end
    local back, buried = 0, 0
    for i = 1, tonumber(ARGV[2]) do
      local job = redis.call('LPOP', KEYS[2])
      if not job then break end
      local first, last, crashes = string.find(job, '^MARTLET1 (%d+) ')
      crashes = tonumber(crashes or 0) + 1
      if first then
        job = 'MARTLET1 ' .. crashes .. ' ' .. string.sub(job, last + 1)
      else
        job = 'MARTLET1 1 0 ' .. ARGV[4] .. i .. ' 0\\n' .. job
      end
      if crashes > tonumber(ARGV[3]) then
        redis.call('ZADD', KEYS[5], ARGV[5], ARGV[6] .. job)
        buried = buried + 1
      else
        redis.call('RPUSH', KEYS[3], job)
        back = back + 1
      end
    end
    local left = redis.call('LLEN', KEYS[2])
    redis.call('PEXPIRE', KEYS[6], ARGV[7])
    redis.call('SET', KEYS[6], '', 'PX', ARGV[7])
    if left == 0 then redis.call('SREM', KEYS[4], ARGV[1]) end
    return {left, back, buried}
    """)

  /// Moves what is due to the front of the queue. KEYS keeper, queue, sorted set...; ARGV worker, keeper's TTL in ms,
  /// most at once. {-1}: another worker keeps the queue. Otherwise {moved, ms to the next due or -1}.
  static let promote = RedisScript(
    """
    local keeper = redis.call('GET', KEYS[1])
    if keeper and keeper ~= ARGV[1] then return {-1, -1} end
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    local moved, wait = 0, -1
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    for k = 3, #KEYS do
      local due = redis.call('ZRANGE', KEYS[k], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[3])
      for i = #due, 1, -1 do
        redis.call('ZREM', KEYS[k], due[i])
        redis.call('RPUSH', KEYS[2], due[i])
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

  /// Writes how far a broadcast has come, never backwards. KEYS progress, tombstone; ARGV cursor, progress, TTL in ms.
  /// 1 written, 0 the stored cursor is further, -1 fenced.
  static let commitProgress = RedisScript(
    """
    if redis.call('EXISTS', KEYS[2]) == 1 then return -1 end
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    local stored = redis.call('GET', KEYS[1])
    if stored then
      local cursor = string.match(stored, '^(%C*)\\n')
      if cursor and cursor > ARGV[1] then return 0 end
    end
    redis.call('SET', KEYS[1], ARGV[1] .. '\\n' .. ARGV[2], 'PX', ARGV[3])
    return 1
    """)
}

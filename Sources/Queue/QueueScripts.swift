import Jobs
import Redis

/// The steps of a job's life that must not be torn apart.
///
/// Each script's first write takes no memory (Redis lets it run when memory is full), every key is declared, and nothing
/// fails after a write: what may have been tampered with is checked first.
enum QueueScripts {
  static let all = [
    claim, ghosts, acknowledge, settle, join, heartbeat, leave, reap, promote, handBack, commitProgress, clearProgress,
    record,
    keepNotification,
  ]

  /// Takes up to n jobs, oldest first, and gives each producer's element its envelope. Elements that carry the queue's seal
  /// are the fleet's own and have one. A job larger than ``Job/maximumBytes`` goes to the dead letters, and nothing of it but
  /// its beginning leaves Redis.
  ///
  /// KEYS source (the queue, or the landing list), in-flight, heartbeat, seal, dead, and the queue when the source is the
  /// landing list; ARGV n, nonce prefix, `keep` for at-most-once (nothing is in flight).
  /// False: the heartbeat has lapsed, or the seal is lost. Otherwise ``ClaimAnswer``.
  static let claim = RedisScript(
    """
    local held = redis.call('MGET', KEYS[3], KEYS[4])
    if not held[1] or not held[2] then return false end
    \(burying("KEYS[5]"))
    local seal = '\(Seal.marker)' .. held[2] .. ' '
    local length, wanted = #seal, tonumber(ARGV[1])
    local jobs, state, n, serial, bytes, chunk = {0, 0, buried}, 0, 0, 0, 0, 1
    while n < wanted do
      local some = redis.call('RPOP', KEYS[1], math.min(chunk, wanted - n))
      if not some then break end
      local first = n + 1
      for i, job in ipairs(some) do
        local size = #job
        serial = serial + 1
        bytes = bytes + size
        local head
        if string.sub(job, 1, length) == seal then
          job = string.sub(job, length + 1)
          if size > \(Job.maximumBytes) then size = producersBytes(job) end
        elseif size > \(Job.maximumBytes) then
          head = 'MARTLET1 0 0 ' .. ARGV[2] .. serial .. ' 0\\n'
        else
          job = 'MARTLET1 0 0 ' .. ARGV[2] .. serial .. ' 0\\n' .. job
        end
        if size <= \(Job.maximumBytes) then
          n = n + 1
          jobs[n + 3] = job
        elseif not bury(job, head, size) then
          for k = #some, i, -1 do redis.call('RPUSH', KEYS[1], some[k]) end
          state = -1
          break
        end
      end
      if n >= first and ARGV[3] ~= 'keep' then redis.call('LPUSH', KEYS[2], unpack(jobs, first + 3, n + 3)) end
      if state == 0 and bytes >= \(QueueLimits.claimBytes) then state = 1 end
      if state ~= 0 then break end
      chunk = math.min(chunk * 2, \(QueueLimits.claimChunk))
    end
    if serial == 0 and KEYS[6] then
      redis.call('LLEN', KEYS[6])
      redis.call('LMOVE', KEYS[1], KEYS[1], 'LEFT', 'LEFT')
    end
    jobs[1], jobs[2] = state, dropped
    if buried[1] then collectgarbage() end
    return jobs
    """)

  /// Buries a job that has left Redis already, as BRPOP does it. KEYS dead; ARGV element, the length of its job.
  /// ``ClaimAnswer`` without jobs; its state -1: the dead letters' key holds another type.
  static let buryPopped = RedisScript(
    """
    \(burying("KEYS[1]"))
    local isBuried = bury(ARGV[1], nil, tonumber(ARGV[2]))
    return {isBuried and 0 or -1, dropped, buried}
    """)

  /// What stands in the in-flight list and is not known, oldest first.
  /// KEYS in-flight; ARGV most elements, known nonces.
  static let ghosts = RedisScript(
    """
    local known, ghosts, bytes = {}, {}, 0
    for i = 2, #ARGV do known[ARGV[i]] = (known[ARGV[i]] or 0) + 1 end
    local first = redis.call('LLEN', KEYS[1]) - 1
    while first >= 0 do
      local some = redis.call('LRANGE', KEYS[1], math.max(0, first - \(QueueLimits.claimChunk - 1)), first)
      for i = #some, 1, -1 do
        local nonce = string.match(some[i], '^MARTLET1 %d+ %d+ (%S+) ') or ''
        if (known[nonce] or 0) > 0 then
          known[nonce] = known[nonce] - 1
        else
          ghosts[#ghosts + 1] = some[i]
          bytes = bytes + #some[i]
          if #ghosts >= tonumber(ARGV[1]) or bytes >= \(QueueLimits.claimBytes) then return ghosts end
        end
      end
      first = first - \(QueueLimits.claimChunk)
    end
    return ghosts
    """)

  /// Ends many jobs, with their records. KEYS in-flight, a record key per job; ARGV record TTL in ms, `keep` for
  /// at-most-once (nothing is in flight), words per job, then element, record (empty: none) and, when there are three words,
  /// author of the record before per job. Answers the places of the jobs that were taken away, and -1 - place of those
  /// whose record was left as it is.
  static let acknowledge = RedisScript(
    """
    \(writing)
    local answer, words = {}, tonumber(ARGV[3])
    if ARGV[2] == 'keep' then redis.call('DEL', KEYS[1]) end
    for i = 2, #KEYS do
      local at = 4 + (i - 2) * words
      if ARGV[2] == 'keep' or redis.call('LREM', KEYS[1], -1, ARGV[at]) == 1 then
        local record = ARGV[at + 1]
        if record ~= '' and not write(KEYS[i], record, ARGV[1], words == 3 and ARGV[at + 2] or '') then
          answer[#answer + 1] = 1 - i
        end
      else
        answer[#answer + 1] = i - 2
      end
    end
    return answer
    """)

  /// Moves one job on. KEYS in-flight, target (the queue, a sorted set, or the in-flight list for none), record, reply
  /// list (in-flight list for none), then of each reader of a notification record: stream, credentials, device; ARGV
  /// element, `keep` or `take`, verb, element in the target, score or delay in ms, most entries of the target, record, its
  /// TTL in ms, `NX` or author of the record before, how many notification records, these, then of each reader: name, number
  /// of its record.
  /// 1 done, and one more for each dead letter that had to go; 0 taken away, -1 the target key holds another
  /// type. In an array: the record was left as it is.
  static let settle = RedisScript(
    """
    \(writing)
    local verb, dropped, isWritten = ARGV[3], 0, true
    local wanted = verb == 'handback' and 'list' or 'zset'
    if verb ~= 'acknowledge' then
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
    elseif verb ~= 'acknowledge' then
      local score = ARGV[5]
      if verb == 'retry' then
        local time = redis.call('TIME')
        score = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[5]
      end
      redis.call('ZADD', KEYS[2], score, ARGV[4])
      if ARGV[6] ~= '' then dropped = redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - ARGV[6]) end
    end
    if ARGV[7] ~= '' then
      if ARGV[9] == 'NX' then
        redis.call('SET', KEYS[3], ARGV[7], 'PX', ARGV[8], 'NX')
      else
        isWritten = write(KEYS[3], ARGV[7], ARGV[8], ARGV[9])
      end
      if KEYS[4] ~= KEYS[1] then
        if redis.pcall('LPUSH', KEYS[4], ARGV[7]) == 1 then redis.pcall('EXPIRE', KEYS[4], 3600) end
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
    return isWritten and 1 + dropped or {1 + dropped}
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

  /// Removes how far a broadcast has come, unless the worker is fenced. KEYS progress, tombstone. 1 removed.
  static let clearProgress = RedisScript(
    """
    if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
    return redis.call('DEL', KEYS[1])
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

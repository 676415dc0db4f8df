import Jobs
import Redis

extension QueueKeys {
  /// The keys of ``QueueScripts/claim`` for what waits in the queue.
  func claimWaiting(by worker: String) -> [String] {
    [queue, inflight(worker), heartbeat(worker), seal, dead, control]
  }

  /// The keys of ``QueueScripts/claim`` for what has landed.
  func claimLanded(by worker: String) -> [String] {
    [landing(worker), inflight(worker), heartbeat(worker), seal, dead, control, queue]
  }
}

extension QueueScripts {
  /// Moves jobs to the in-flight list, oldest first.
  ///
  /// A producer's element gets an envelope; an element that carries the queue's seal is the fleet's own and has one. A
  /// job larger than ``Job/maximumBytes`` goes to the dead letters, and only its beginning leaves Redis. If the key of
  /// the dead letters holds another type, the job goes back to the end of the queue that it came from, or to the other
  /// end of the landing list, so that it does not keep the jobs behind it there.
  ///
  /// While the queue is paused nothing is claimed, and what has landed goes back to the front of the queue.
  ///
  /// KEYS
  ///   1  the source: the queue, or the landing list
  ///   2  the in-flight list
  ///   3  the heartbeat
  ///   4  the seal
  ///   5  the dead letters
  ///   6  the control string
  ///   7  the queue, if the source is the landing list
  /// ARGV
  ///   1  jobs at most
  ///   2  the prefix of the nonces
  ///   3  the delivery mode; at-most-once writes no in-flight list
  /// Returns false if the heartbeat has expired or the seal is lost, otherwise a ``ClaimAnswer``. With KEYS 7 and
  /// nothing landed, the error that the preceding BLMOVE met, if it met one: its reply was left out.
  static let claim = RedisScript(
    """
    local held = redis.call('MGET', KEYS[3], KEYS[4], KEYS[6])
    if not held[1] or not held[2] then return false end
    local control, landed, left = held[3], KEYS[7], redis.call('LLEN', KEYS[1])
    if control and string.find(control, '\(ControlScripts.pausedPattern)') then
      if landed and left > 0 then
        redis.call('PERSIST', KEYS[1])
        for _ = 1, math.min(left, \(QueueLimits.moveBatch)) do redis.call('LMOVE', KEYS[1], landed, 'LEFT', 'RIGHT') end
      end
      return {{2, control}, 0, {}}
    end
    \(burying("KEYS[5]"))
    if landed and left == 0 then
      redis.call('LLEN', KEYS[7])
      redis.call('LMOVE', KEYS[1], KEYS[1], 'LEFT', 'LEFT')
    end
    local seal = '\(Seal.marker)' .. held[2] .. ' '
    local length, wanted = #seal, tonumber(ARGV[1])
    local jobs, state, n, serial, bytes, chunk = {0, 0, buried}, 0, 0, 0, 0, 1
    while n < wanted and serial < left do
      local some = redis.call('RPOP', KEYS[1], math.min(chunk, wanted - n, left - serial))
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
          state = -1
          if landed then
            redis.call('LPUSH', KEYS[1], some[i])
          else
            for k = #some, i, -1 do redis.call('RPUSH', KEYS[1], some[k]) end
            break
          end
        end
      end
      if n >= first and ARGV[3] ~= 'at-most-once' then redis.call('LPUSH', KEYS[2], unpack(jobs, first + 3, n + 3)) end
      if bytes >= \(QueueLimits.claimBytes) then
        if state == 0 then state = 1 end
        break
      end
      if state ~= 0 and not landed then break end
      chunk = math.min(chunk * 2, \(QueueLimits.claimChunk))
    end
    jobs[1], jobs[2] = control and {state, control} or state, dropped
    if buried[1] then collectgarbage() end
    return jobs
    """)

  /// Buries a job that BRPOP has taken out of Redis.
  ///
  /// KEYS
  ///   1  the dead letters
  /// ARGV
  ///   1  the element
  ///   2  the length of its job in bytes
  /// Returns a ``ClaimAnswer`` without jobs. Its state is -1 if the key of the dead letters holds another type.
  static let buryPopped = RedisScript(
    """
    \(burying("KEYS[1]"))
    local isBuried = bury(ARGV[1], nil, tonumber(ARGV[2]))
    return {isBuried and 0 or -1, dropped, buried}
    """)

  /// Lists the elements of the in-flight list that are not known, oldest first.
  ///
  /// KEYS
  ///   1  the in-flight list
  /// ARGV
  ///   1  elements at most
  ///   2  the known nonces, separated by spaces: a worker may know more than a request may have arguments
  /// Returns the elements.
  static let ghosts = RedisScript(
    """
    local known, ghosts, bytes = {}, {}, 0
    for nonce in string.gmatch(ARGV[2], '%S+') do known[nonce] = (known[nonce] or 0) + 1 end
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

  /// Returns Lua that buries jobs in the dead letters under `key`, an expression.
  ///
  /// `producersBytes(element)` returns the length of the job in an envelope. `bury(element, head, size)` writes a dead
  /// letter, with the envelope `head` if the element has none yet; it returns false, and writes nothing, if the key
  /// holds another type. `buried` lists the size and the beginning of each job, and `dropped` counts the letters that
  /// were deleted because there were too many.
  private static func burying(_ key: String) -> String {
    """
    local buried, dropped = {}, 0
    local function producersBytes(element)
      local _, last, state = string.find(element, '^MARTLET1 %d+ %d+ %S+ (%d+)\\n')
      return last and #element - last - state or #element
    end
    local function bury(element, head, size)
      local found = redis.call('TYPE', \(key)).ok
      if found ~= 'none' and found ~= 'zset' then return false end
      local time = redis.call('TIME')
      local at = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
      local attempts = (string.match(element, '^MARTLET1 %d+ (%d+) ') or 0) + 1
      if head then attempts = 1 end
      local line = '{"reason":"\(Job.tooLarge)","at":' .. at .. ',"attempts":' .. attempts .. '}\\n'
      redis.call('ZADD', \(key), at, line .. (head or '') .. element)
      dropped = dropped + redis.call('ZREMRANGEBYRANK', \(key), 0, \(-1 - QueueLimits.maximumDeadLetters))
      buried[#buried + 1] = {size, (head or '') .. string.sub(element, 1, \(QueueLimits.buriedBeginning))}
      return true
    end
    """
  }
}

import Jobs
package import Redis

extension QueueKeys {
  /// Claims up to `count` jobs that wait in the queue, or that have landed.
  package func claim(
    landed: Bool = false, by worker: String, upTo count: Int, noncePrefix: String, _ mode: DeliveryMode
  )
    -> RedisCall
  {
    QueueScripts.claim(
      source: landed ? landing(worker) : queue, inflight: inflight(worker), heartbeat: heartbeat(worker), seal: seal,
      dead: dead, control: control, queue: queue, count: count, nonces: noncePrefix, mode: mode.rawValue)
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
  /// The head of an envelope is built from prepared strings, as formatting a number takes Redis longer than moving the job:
  /// `tens` changes with every tenth job, and `ends` has the rest.
  ///
  /// While the queue is paused nothing is claimed, and what has landed goes back to the front of the queue.
  ///
  /// - `source`: the queue, or the landing list.
  /// - `count`: jobs at most.
  /// - `nonces`: the prefix of the nonces.
  /// - `mode`: the delivery mode; at-most-once writes no in-flight list.
  ///
  /// Returns false if the heartbeat has expired or the seal is lost, otherwise a ``ClaimAnswer``. If nothing has
  /// landed, the error that the preceding BLMOVE met, if it met one: its reply was left out. An error if the key of the
  /// in-flight list holds another type: the jobs go back to where they came from.
  static let claim = RedisScript(
    keys: ["source", "inflight", "heartbeat", "seal", "dead", "control", "queue"],
    arguments: ["count", "nonces", "mode"],
    """
    local found = redis.call('MGET', heartbeat, seal, control)
    if not found[1] or not found[2] then return false end
    local asked, landed, left = found[3], source ~= queue, redis.call('LLEN', source)
    if asked and string.find(asked, '\(ControlScripts.pausedPattern)') then
      if landed and left > 0 then
        redis.call('PERSIST', source)
        for _ = 1, math.min(left, \(QueueLimits.moveBatch)) do redis.call('LMOVE', source, queue, 'LEFT', 'RIGHT') end
      end
      return {{2, asked}, 0, {}}
    end
    \(burying)
    \(holding)
    if landed and left == 0 then
      redis.call('LLEN', queue)
      redis.call('LMOVE', source, source, 'LEFT', 'LEFT')
    end
    local marker = '\(Seal.marker)' .. found[2] .. ' '
    local length, letter, wanted, envelope = #marker, string.byte(marker), tonumber(count), 'MARTLET1 0 0 ' .. nonces
    local tens = envelope
    local ends = {'0 0\\n', '1 0\\n', '2 0\\n', '3 0\\n', '4 0\\n', '5 0\\n', '6 0\\n', '7 0\\n', '8 0\\n', '9 0\\n'}
    local jobs, state, n, serial, bytes, chunk = {0, 0, buried}, 0, 0, 0, 0, 1
    while n < wanted and serial < left do
      local some = redis.call('RPOP', source, math.min(chunk, wanted - n, left - serial))
      for i = 1, #some do
        local job, size, head = some[i], #some[i], nil
        serial = serial + 1
        bytes = bytes + size
        local unit = serial % 10
        if unit == 0 then tens = envelope .. serial / 10 end
        if string.byte(job) == letter and string.sub(job, 1, length) == marker then
          job = string.sub(job, length + 1)
          if size > \(Job.maximumBytes) then size = producersBytes(job) end
        elseif size > \(Job.maximumBytes) then
          head = tens .. ends[unit + 1]
        else
          job = tens .. ends[unit + 1] .. job
        end
        if size <= \(Job.maximumBytes) then
          n = n + 1
          jobs[n + 3] = job
        elseif not bury(job, head, size) then
          state = -1
          if landed then
            redis.call('LPUSH', source, some[i])
          else
            for k = #some, i, -1 do redis.call('RPUSH', source, some[k]) end
            break
          end
        end
      end
      if bytes >= \(QueueLimits.claimBytes) and state == 0 then state = 1 end
      if bytes >= \(QueueLimits.claimBytes) or state ~= 0 and not landed then break end
      chunk = math.min(chunk * 2, \(QueueLimits.claimChunk))
    end
    local refusal = n > 0 and mode ~= 'at-most-once' and hold(marker, jobs, n + 3)
    if refusal then return refusal end
    jobs[1], jobs[2] = asked and {state, asked} or state, dropped
    if buried[1] then collectgarbage() end
    return jobs
    """)

  /// Buries a job that BRPOP has taken out of Redis. `size`: the length of the job of `element` in bytes.
  ///
  /// Returns a ``ClaimAnswer`` without jobs. Its state is -1 if the key of the dead letters holds another type.
  static let buryPopped = RedisScript(
    keys: ["dead"], arguments: ["element", "size"],
    """
    \(burying)
    local isBuried = bury(element, nil, tonumber(size))
    return {isBuried and 0 or -1, dropped, buried}
    """)

  /// Lists up to `most` elements of the in-flight list that are not known, oldest first.
  ///
  /// `nonces`: the known ones, separated by spaces: a worker may know more than a request may have arguments.
  static let unanswered = RedisScript(
    keys: ["inflight"], arguments: ["most", "nonces"],
    """
    local known, unanswered, bytes = {}, {}, 0
    for nonce in string.gmatch(nonces, '%S+') do known[nonce] = (known[nonce] or 0) + 1 end
    local first = redis.call('LLEN', inflight) - 1
    while first >= 0 do
      local some = redis.call('LRANGE', inflight, math.max(0, first - \(QueueLimits.claimChunk - 1)), first)
      for i = #some, 1, -1 do
        local nonce = string.match(some[i], '^MARTLET1 %d+ %d+ (%S+) ') or ''
        if (known[nonce] or 0) > 0 then
          known[nonce] = known[nonce] - 1
        else
          unanswered[#unanswered + 1] = some[i]
          bytes = bytes + #some[i]
          if #unanswered >= tonumber(most) or bytes >= \(QueueLimits.claimBytes) then return unanswered end
        end
      end
      first = first - \(QueueLimits.claimChunk)
    end
    return unanswered
    """)

  /// Lua: `hold(marker, jobs, last)` makes the jobs 4 to `last` in flight. If the key holds another type, they go back to where
  /// they came from, and the error is returned.
  private static let holding = """
    local function hold(marker, jobs, last)
      local held = redis.pcall('LPUSH', inflight, unpack(jobs, 4, last))
      if type(held) ~= 'table' then return false end
      for k = last, 4, -1 do redis.call('RPUSH', source, marker .. jobs[k]) end
      return held
    end
    """

  /// Lua that buries jobs in the dead letters under the key `dead`.
  ///
  /// `producersBytes(element)` returns the length of the job in an envelope. `bury(element, head, size)` writes a dead
  /// letter, with the envelope `head` if the element has none yet; it returns false, and writes nothing, if the key
  /// holds another type or may not be written. `buried` lists the size and the beginning of each job, and `dropped` counts the letters that
  /// were deleted because there were too many.
  private static let burying = """
    local buried, dropped = {}, 0
    local function producersBytes(element)
      local _, last, state = string.find(element, '^MARTLET1 %d+ %d+ %S+ (%d+)\\n')
      return last and #element - last - state or #element
    end
    local function bury(element, head, size)
      local found = redis.call('TYPE', dead).ok
      if found ~= 'none' and found ~= 'zset' then return false end
      \(RedisScript.clock)
      local at = string.format('%.0f', now)
      local attempts = (string.match(element, '^MARTLET1 %d+ (%d+) ') or 0) + 1
      if head then attempts = 1 end
      local line = '{"reason":"\(Job.tooLarge)","at":' .. at .. ',"attempts":' .. attempts .. '}\\n'
      if type(redis.pcall('ZADD', dead, at, line .. (head or '') .. element)) == 'table' then return false end
      dropped = dropped + redis.call('ZREMRANGEBYRANK', dead, 0, \(-1 - QueueLimits.maximumDeadLetters))
      buried[#buried + 1] = {size, (head or '') .. string.sub(element, 1, \(QueueLimits.buriedBeginning))}
      return true
    end
    """
}

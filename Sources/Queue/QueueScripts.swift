import Events
import JSON
import Jobs
import PushModel
package import Redis

/// The atomic steps of a job's life.
///
/// The first write of a script that settles or moves jobs takes no memory, as Redis then runs it even when its memory is full.
/// Every key is declared. Nothing fails after a write: what others may have changed is checked before. Only a right may be
/// missing, which Redis tells when it is needed: the job is then put back (``placing``). A key that a script
/// has emptied is not accessed again: while a cluster moves its slot, Redis refuses that.
package enum QueueScripts {
  /// Lua: `place(list, job, ...)` runs the command that gives a place to a job that was taken from the left end of a list, or from
  /// none. If Redis refuses the command, the job goes back there, and the error is returned.
  static let placing = """
    local function place(list, job, ...)
      local done = redis.pcall(...)
      if type(done) ~= 'table' then return nil end
      if list then redis.call('LPUSH', list, job) end
      return done
    end
    """

  /// What a worker loads into Redis when it connects.
  static let all = [
    claimScript, ghostClaimsScript, acknowledgeScript, finishScript, moveScript, handBackScript, separateRecordScript,
    heartbeatScript, leaveScript, handBackAllScript, reapScript, promoteScript, commitProgressScript,
    clearProgressScript, keepNotificationScript, oldestScript, screenScript, writeBroadcastScript,
  ]

  // MARK: - Claiming

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
  static let claimScript = RedisScript(
    keys: ["source", "inflight", "heartbeat", "seal", "dead", "control", "queue"],
    arguments: ["count", "nonces", "mode"],
    """
    local found = redis.call('MGET', heartbeat, seal, control)
    if not found[1] or not found[2] then return false end
    local asked, landed, left = found[3], source ~= queue, redis.call('LLEN', source)
    if asked and string.find(asked, '\(pausedPattern)') then
      if landed and left > 0 then
        redis.call('PERSIST', source)
        for _ = 1, math.min(left, \(QueueLimits.moveBatch)) do redis.call('LMOVE', source, queue, 'LEFT', 'RIGHT') end
      end
      return {{2, asked}, 0, {}}
    end
    \(burying)
    \(startingJobs)
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
    local refusal = n > 0 and mode ~= 'at-most-once' and putInFlight(marker, jobs, n + 3)
    if refusal then return refusal end
    jobs[1], jobs[2] = asked and {state, asked} or state, dropped
    if buried[1] then collectgarbage() end
    return jobs
    """)

  static func claim(
    source: String, inflight: String, heartbeat: String, seal: String, dead: String, control: String, queue: String,
    count: Int, nonces: String, mode: String
  ) -> RedisCall {
    claimScript.call(keys: source, inflight, heartbeat, seal, dead, control, queue, arguments: count, nonces, mode)
  }

  /// Buries a job that BRPOP has taken out of Redis. `size`: the length of the job of `element` in bytes.
  ///
  /// Returns a ``ClaimAnswer`` without jobs. Its state is -1 if the key of the dead letters holds another type.
  static let buryPoppedScript = RedisScript(
    keys: ["dead"], arguments: ["element", "size"],
    """
    \(burying)
    local isBuried = bury(element, nil, tonumber(size))
    return {isBuried and 0 or -1, dropped, buried}
    """)

  static func buryPopped(dead: String, element: [UInt8], size: Int) -> RedisCall {
    buryPoppedScript.call(keys: dead, arguments: element, size)
  }

  /// Lists up to `most` elements of the in-flight list that are not known, oldest first.
  ///
  /// `nonces`: the known ones, separated by spaces: a worker may know more than a request may have arguments.
  private static let ghostClaimsScript = RedisScript(
    keys: ["inflight"], arguments: ["most", "nonces"],
    """
    local known, ghosts, bytes = {}, {}, 0
    for nonce in string.gmatch(nonces, '%S+') do known[nonce] = (known[nonce] or 0) + 1 end
    local first = redis.call('LLEN', inflight) - 1
    while first >= 0 do
      local some = redis.call('LRANGE', inflight, math.max(0, first - \(QueueLimits.claimChunk - 1)), first)
      for i = #some, 1, -1 do
        local nonce = string.match(some[i], '^MARTLET1 %d+ %d+ (%S+) ') or ''
        if (known[nonce] or 0) > 0 then
          known[nonce] = known[nonce] - 1
        else
          ghosts[#ghosts + 1] = some[i]
          bytes = bytes + #some[i]
          if #ghosts >= tonumber(most) or bytes >= \(QueueLimits.claimBytes) then return ghosts end
        end
      end
      first = first - \(QueueLimits.claimChunk)
    end
    return ghosts
    """)

  static func ghostClaims(inflight: String, most: Int, nonces: String) -> RedisCall {
    ghostClaimsScript.call(keys: inflight, arguments: most, nonces)
  }

  /// Lua: `putInFlight(marker, jobs, last)` makes the jobs 4 to `last` in flight. If the key holds another type, they go back to where
  /// they came from, and the error is returned.
  private static let startingJobs = """
    local function putInFlight(marker, jobs, last)
      local done = redis.pcall('LPUSH', inflight, unpack(jobs, 4, last))
      if type(done) ~= 'table' then return false end
      for k = last, 4, -1 do redis.call('RPUSH', source, marker .. jobs[k]) end
      return done
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

  /// Reads the oldest job of a queue. `limit`: its bytes at most.
  ///
  /// Returns the element; its length if it is longer; false if there is none, or if it is the fleet's own.
  private static let oldestScript = RedisScript(
    keys: ["queue", "seal"], arguments: ["limit"],
    """
    local job = redis.call('LINDEX', queue, -1)
    if not job then return false end
    if #job > tonumber(limit) then return #job end
    local word = redis.call('GET', seal)
    local prefix = '\(Seal.marker)' .. (word or '') .. ' '
    if word and string.sub(job, 1, #prefix) == prefix then return false end
    return job
    """)

  package static func oldest(queue: String, seal: String, limit: Int) -> RedisCall {
    oldestScript.call(keys: queue, seal, arguments: limit)
  }

  /// Looks up claimed jobs before they are worked on. A job with a locator replaces the job that is scheduled under the
  /// same id.
  ///
  /// `locators`: of each job its locator if it replaces, or `cancelled`. `ids`: the id of each job.
  ///
  /// Returns of each job 0, 1 if it is cancelled, or 2 if an operator has paused it.
  private static let screenScript = RedisScript(
    keys: ["cancelled", "pauses", "scheduled", "locators..."], arguments: ["ids..."],
    """
    \(locating)
    local answer, left, gone = {}, redis.call('ZCARD', scheduled), {}
    local marks, isAnyPaused = redis.call('ZCARD', cancelled) > 0, redis.call('EXISTS', pauses) == 1
    for i, id in ipairs(ARGV) do
      local due = KEYS[locators + i]
      answer[i] = 0
      if marks and redis.call('ZSCORE', cancelled, id) then
        answer[i] = 1
      elseif isAnyPaused and redis.call('HEXISTS', pauses, id) == 1 then
        answer[i] = 2
      end
      if answer[i] == 0 and due ~= cancelled and left > 0 and not gone[due] then
        local _, _, element = locate(due, {s = scheduled})
        if element then
          left = left - redis.call('ZREM', scheduled, element)
          redis.call('DEL', due)
          gone[due] = true
        end
      end
    end
    return answer
    """)

  static func screen(cancelled: String, pauses: String, scheduled: String, locators: RedisList, ids: RedisList)
    -> RedisCall
  {
    screenScript.call(keys: cancelled, pauses, scheduled, locators, arguments: ids)
  }

  // MARK: - Settling: the ways in which a job leaves a worker. A job that is not in the in-flight list stays as it is.

  /// Lua: `take()` removes `element` from the list `inflight`. Returns false if it was not there.
  ///
  /// At most once there is no list; as the first write, DEL makes a full Redis accept the next one.
  private static let taking = """
    local function take()
      if mode == 'at-most-once' then return redis.call('DEL', inflight) ~= nil end
      return redis.call('LREM', inflight, '-1', element) == 1
    end
    """

  /// Lua: `put(...)` runs the command by which the job that was taken reaches its next place, as `place` does.
  private static let putting = """
    \(placing)
    local function put(...) return place(mode ~= 'at-most-once' and inflight, element, ...) end
    """

  /// Acknowledges many jobs in their first attempt, each with its record or none.
  ///
  /// Jobs mostly end in the order in which they were claimed. Those that are the oldest of the list leave it together, and
  /// so their elements are not passed: Lua would allocate a string for each. The other jobs are searched.
  ///
  /// - `ttl`: that of the records, in ms.
  /// - `count`, `first`, `last`: the number of the oldest jobs, and the first and the last of their elements.
  /// - `together`: the number of records of the oldest jobs; at most once of all jobs, as there is no list.
  /// - `records`: their keys, then one for each of the other jobs, `inflight` if it has none.
  /// - `jobs`: the records in the same order, JSON or empty, then the elements of the other jobs.
  ///
  /// Returns an ``AcknowledgeAnswer``. False if the oldest jobs are others: nothing was written.
  private static let acknowledgeScript = RedisScript(
    keys: ["inflight", "records..."], arguments: ["mode", "ttl", "count", "first", "last", "together", "jobs..."],
    """
    \(writing)
    local answer, total, left, refusal = {}, #KEYS - records, 0, nil
    if mode == 'at-most-once' then
      redis.call('DEL', inflight)
    else
      left = redis.call('LLEN', inflight) - count
    end
    if count ~= '0' then
      if redis.call('LINDEX', inflight, '-1') ~= first then return false end
      if redis.call('LINDEX', inflight, '-' .. count) ~= last then return false end
      redis.call('LTRIM', inflight, '0', -1 - count)
    end
    together = tonumber(together)
    for place = 1, total do
      local record, taken = ARGV[jobs + place], 1
      if place > together then
        taken = left > 0 and redis.call('LREM', inflight, '-1', ARGV[jobs + total + place - together]) or 0
        left = left - taken
      end
      if taken == 0 then
        answer[#answer + 1] = place - 1
      elseif record ~= '' then
        local isRun, isWritten = pcall(write, KEYS[records + place], record, ttl, '', nil, inflight)
        if not isRun then refusal = isWritten elseif not isWritten then answer[#answer + 1] = -place end
      end
    end
    if refusal then answer[#answer + 1] = type(refusal) == 'table' and refusal.err or refusal end
    return answer
    """)

  static func acknowledge(
    inflight: String, records: RedisList, mode: String, ttl: Int64, count: Int, first: [UInt8], last: [UInt8],
    together: Int, jobs: RedisList
  ) -> RedisCall {
    acknowledgeScript.call(keys: inflight, records, arguments: mode, ttl, count, first, last, together, jobs)
  }

  /// Acknowledges a job with all that it leaves. Returns a ``SettleAnswer``.
  private static let finishScript = RedisScript(
    keys: ["inflight"] + leftKeys, arguments: ["mode", "element"] + leftArguments,
    """
    \(taking)
    \(leaving)
    if not take() then return 0 end
    return leave(0)
    """)

  static func finish(
    inflight: String, record: String, reply: String, stream: String, readers: RedisList, mode: String, element: [UInt8],
    json: [UInt8], ttl: Int64, author: String, notifications: [UInt8], events: [UInt8]
  ) -> RedisCall {
    finishScript.call(
      keys: inflight, record, reply, stream, readers, arguments: mode, element, json, ttl, author, notifications, events
    )
  }

  /// Moves a job to a sorted set: the retried jobs, the scheduled jobs or the dead letters.
  ///
  /// - `target`, `moved`: the set, and the element in it.
  /// - `score`, `delay`: its score in unix ms; if that is empty, the delay in ms from now.
  /// - `pauses`, `paused`: the paused broadcasts, and the id of one that is kept without a date; or empty. If it was resumed
  ///   meanwhile, it is due at once.
  /// - `due`, `letter`, `head`, `outlives`: the locator, its letter, the beginning of `moved`, and how long the locator
  ///   outlives the due time in ms. `due` may be `inflight` for none.
  /// - `replaced`: the set of the job with the same locator that is replaced, or `inflight`.
  /// - `control`: the control string if it has to say that jobs are scheduled under ids of producers, or `inflight`.
  /// - `most`: entries of `target` at most, or empty.
  ///
  /// Returns a ``SettleAnswer``.
  private static let moveScript = RedisScript(
    keys: ["inflight", "target", "pauses", "due", "replaced", "control"] + leftKeys,
    arguments: ["mode", "element", "moved", "score", "delay", "paused", "letter", "head", "outlives", "most"]
      + leftArguments,
    """
    \(taking)
    \(putting)
    \(leaving)
    \(locating)
    \(changing)
    local kind, dropped, before = redis.call('TYPE', target).ok, 0, nil
    if kind ~= 'none' and kind ~= 'zset' then return -1 end
    if replaced ~= inflight then before = select(3, locate(due, {s = replaced})) end
    if not take() then return 0 end
    \(RedisScript.clock)
    if score == '' then score = string.format('%.0f', now + delay) end
    if paused ~= '' and redis.pcall('HEXISTS', pauses, paused) ~= 1 then score = string.format('%.0f', now) end
    local refused = put('ZADD', target, score, moved)
    if refused then return refused end
    if before and before ~= moved then redis.call('ZREM', replaced, before) end
    if due ~= inflight then
      local stays = string.format('%.0f', math.max(score - now, 0) + outlives)
      redis.call('SET', due, letter .. ' ' .. score .. ' ' .. head, 'PX', stays)
    end
    if control ~= inflight then
      local asked = redis.call('MGET', control)[1]
      if not asked or not string.find(asked, '^%d+ %u*S') then change(control, 'S', '') end
    end
    if most ~= '' then dropped = redis.call('ZREMRANGEBYRANK', target, 0, -1 - most) end
    return leave(dropped)
    """)

  static func move(
    inflight: String, target: String, pauses: String, due: String, replaced: String, control: String, record: String,
    reply: String, stream: String, readers: RedisList, mode: String, element: [UInt8], moved: [UInt8], score: String,
    delay: Int64, paused: String, letter: String, head: [UInt8], outlives: Int64, most: String, json: [UInt8],
    ttl: Int64, author: String, notifications: [UInt8], events: [UInt8]
  ) -> RedisCall {
    moveScript.call(
      keys: inflight, target, pauses, due, replaced, control, record, reply, stream, readers, arguments: mode, element,
      moved, score, delay, paused, letter, head, outlives, most, json, ttl, author, notifications, events)
  }

  /// Hands a job back to the front of its queue, as `sealed`. Returns a ``SettleAnswer``.
  static let handBackScript = RedisScript(
    keys: ["inflight", "queue"], arguments: ["mode", "element", "sealed"],
    """
    \(taking)
    \(putting)
    local kind = redis.call('TYPE', queue).ok
    if kind ~= 'none' and kind ~= 'list' then return -1 end
    if not take() then return 0 end
    return put('RPUSH', queue, sealed) or 1
    """)

  static func handBack(inflight: String, queue: String, mode: String, element: [UInt8], sealed: [UInt8]) -> RedisCall {
    handBackScript.call(keys: inflight, queue, arguments: mode, element, sealed)
  }

  // MARK: - Records: what a job leaves behind when its claim ends

  /// A longer value under a record's key is not a record.
  static let maximumRecordBytes = 262_144

  /// Lua: `write(key, record, ttl, author, nonce, place)` writes a record. It returns false, and writes nothing, if another job
  /// with the same id has a record there and has not ended, or ended while this job was claimed. The record of a duplicate,
  /// which may end before the job that it repeats, is replaced, and replaces none of another job.
  ///
  /// A record is the job's own if it has the job's `nonce`, which stays the same from the first claim to the end, or its
  /// `author`: that of the last record that the job wrote and was settled with (``AttemptState/recordAuthor``), empty for a
  /// first attempt. The author suffices where record and settlement are one step, and for records of earlier versions,
  /// which have no nonce. Elsewhere a worker that was taken for dead may write late, and its job's record of a later
  /// ``AttemptTurn`` stays: it returns nil.
  ///
  /// `place` is the job's queue, or a key of it. A record that has not ended names its queue, and keeps no end of a job of another
  /// queue out. That then names its own, so that the other job, which may wait for long, does not take it back before it ends.
  ///
  /// If there is no record yet, this costs what a SET does.
  package static let writing = """
    \(AttemptTurn.comparing)
    local function naming(record, queue)
      if type(queue) ~= 'string' then return record end
      return string.sub(record, 1, -2) .. ',"queue":' .. cjson.encode(queue) .. '}'
    end
    local function isOver(record) return record.status ~= 'retrying' and record.status ~= 'deferred' end
    local function write(key, record, ttl, author, nonce, place)
      if redis.call('SET', key, record, 'PX', ttl, 'NX') then return true end
      local size = redis.pcall('STRLEN', key)
      if type(size) == 'number' and size <= \(maximumRecordBytes) then
        local old = redis.call('GET', key)
        local isRead, was = pcall(cjson.decode, old)
        if old ~= record and isRead and type(was) == 'table' then
          local new = cjson.decode(record)
          local by = tostring(was.worker) .. ' ' .. string.format('%.0f', tonumber(was.claimedAt) or 0)
          local endedBefore = isOver(was) and (tonumber(was.finishedAt) or 0) < new.claimedAt
          if by ~= author and nonce and was.nonce == nonce then
            if isEarlier(new, was) then return nil end
            if isOver(was) and isOver(new) then record = naming(record, was.queue) end
          elseif by ~= author then
            if new.status == 'duplicate' then return true end
            local queue = string.match(place, '^martlet:{(.*)}:') or place
            local isElsewhere = type(was.queue) == 'string' and was.queue ~= queue
            if isElsewhere and isOver(new) and not isOver(was) then
              record = naming(record, queue)
            elseif isElsewhere and not isOver(new) or was.status ~= 'duplicate' and not endedBefore then
              return false
            end
          end
        end
      end
      redis.call('SET', key, record, 'PX', ttl)
      return true
    end
    """

  /// Lua: `answer(list, json)` puts a record on the list that its producer has named. A list that this creates expires
  /// after 1 h. What Redis refuses is left out.
  package static let answering = """
    local function answer(list, json)
      if redis.pcall('LPUSH', list, json) == 1 then redis.pcall('EXPIRE', list, 3600) end
    end
    """

  /// The keys that ``leaving`` needs, behind those of a script. Each but the last may be `inflight`, which stands for none.
  ///
  /// `readers`: the stream, the credentials and the device of each reader of a notification record.
  static let leftKeys = ["record", "reply", "stream", "readers..."]

  /// The arguments that ``leaving`` needs, behind those of a script.
  ///
  /// - `json`, `ttl`, `author`: what record and reply get or empty, the record's TTL in ms, the author of the record before.
  /// - `notifications`: a JSON array of arrays of a notification record and the names of its readers.
  /// - `events`: a JSON array of events.
  static let leftArguments = ["json", "ttl", "author", "notifications", "events"]

  /// Lua: `leave(dropped)` writes the record, the reply, the notification records and the events. What Redis refuses is left
  /// out: the job has left already. Returns a ``SettleAnswer``, with the number of dead letters that were deleted.
  static let leaving = """
    \(writing)
    \(answering)
    \(keeping)
    local function leave(dropped)
      local isWritten, key, refusal, leftOut = true, readers, nil, nil
      if json ~= '' then
        if record ~= inflight then
          local isRun, result = pcall(write, record, json, ttl, author, nil, inflight)
          if isRun then isWritten = result else leftOut = type(result) == 'table' and result.err or result end
        end
        if reply ~= inflight then answer(reply, json) end
      end
      for _, notification in ipairs(cjson.decode(notifications)) do
        for _, name in ipairs(notification[2]) do
          if redis.pcall('HEXISTS', KEYS[key + 2], name) == 1 or redis.pcall('EXISTS', KEYS[key + 3]) == 1 then
            keep(KEYS[key + 1], notification[1])
          end
          key = key + 3
        end
      end
      for _, event in ipairs(cjson.decode(events)) do
        local added = \(EventStream.append(to: "stream", "event"))
        if type(added) == 'table' and added.err then refusal = added.err end
      end
      if refusal or leftOut then return {1 + dropped, isWritten and 1 or 0, refusal or '', leftOut or ''} end
      return isWritten and 1 + dropped or {1 + dropped}
    end
    """

  /// Writes a notification record for readers without one of the job among their latest: a broadcast reaches a reader
  /// once per device, and again after a crash.
  ///
  /// - `readers`: the stream, the credentials and the device of each reader.
  /// - `json`: the notification record.
  /// - `names`: the name of each reader.
  ///
  /// Returns the number of records written. An error if Redis has no room; some may be written then.
  private static let keepNotificationScript = RedisScript(
    keys: ["readers..."], arguments: ["json", "names..."],
    """
    \(keeping)
    local written = 0
    for place = 1, #ARGV - names do
      local key = readers + 3 * place - 2
      local isReadable = redis.pcall('HEXISTS', KEYS[key + 1], ARGV[names + place]) == 1
        or redis.pcall('EXISTS', KEYS[key + 2]) == 1
      if isReadable and not isKept(KEYS[key], json) then
        local added = keep(KEYS[key], json)
        if type(added) == 'table' and added.err and not string.find(added.err, '^WRONGTYPE') then return added end
        written = written + 1
      end
    end
    return written
    """)

  static func keepNotification(readers: RedisList, json: [UInt8], names: RedisList) -> RedisCall {
    keepNotificationScript.call(keys: readers, arguments: json, names)
  }

  /// Lua: `keep(stream, json)` writes a notification record and returns what XADD returns; `isKept(stream, json)` tells whether one
  /// of the same job, with whose id the record begins, is among the latest.
  static let keeping = """
    local function keep(stream, json)
      local added = redis.pcall('XADD', stream, 'MAXLEN', '~', \(QueueLimits.maximumNotifications), '*', 'notification', json)
      redis.pcall('EXPIRE', stream, 2592000)
      return added
    end
    local function isKept(stream, json)
      local head = string.match(json, '^{"id":"[^"]*",') or json
      for _, entry in ipairs(redis.pcall('XREVRANGE', stream, '+', '-', 'COUNT', 20)) do
        if string.sub(entry[2][2] or '', 1, #head) == head then return true end
      end
      return false
    end
    """

  // MARK: - Records in other slots. Their first write takes no memory, so that a full server does not delay the jobs.

  static let separate = [separateReplyScript, separateNotificationScript]

  /// Writes the record of a job before the job leaves the in-flight list. `author`: that of the record before.
  ///
  /// Returns 1, 0 if another job has a record there, or nil if a later attempt at the job has.
  private static let separateRecordScript = RedisScript(
    keys: ["record"], arguments: ["json", "ttl", "author", "nonce", "queue"],
    """
    \(writing)
    redis.call('PEXPIRE', record, ttl)
    local isWritten = write(record, json, ttl, author, nonce, queue)
    if isWritten == nil then return nil end
    return isWritten and 1 or 0
    """)

  static func separateRecord(
    record: String, json: [UInt8], ttl: Int64, author: String, nonce: String, queue: String
  ) -> RedisCall {
    separateRecordScript.call(keys: record, arguments: json, ttl, author, nonce, queue)
  }

  /// Puts a record on the list that its producer has named, unless it is there already. A list that this creates expires
  /// after 1 h. Returns 1, or 0 if the record was there.
  private static let separateReplyScript = RedisScript(
    keys: ["list"], arguments: ["json"],
    """
    redis.call('LTRIM', list, 0, -1)
    if redis.call('LINDEX', list, 0) == json then return 0 end
    if redis.call('LPUSH', list, json) == 1 then redis.call('EXPIRE', list, 3600) end
    return 1
    """)

  static func separateReply(list: String, json: [UInt8]) -> RedisCall {
    separateReplyScript.call(keys: list, arguments: json)
  }

  /// Writes a notification record, JSON that begins with the job's id, unless one of the job is among the latest.
  ///
  /// Returns the number of records written.
  private static let separateNotificationScript = RedisScript(
    keys: ["stream"], arguments: ["json"],
    """
    \(keeping)
    redis.call('EXPIRE', stream, 2592000)
    if isKept(stream, json) then return 0 end
    local added = keep(stream, json)
    return type(added) == 'table' and added.err and added or 1
    """)

  static func separateNotification(stream: String, json: [UInt8]) -> RedisCall {
    separateNotificationScript.call(keys: stream, arguments: json)
  }

  /// The records that are looked for: those of accepted jobs, or of all jobs that have ended.
  enum Kind: String { case accepted, ended }

  /// Lua: `ended()` returns the status of the record and when the job ended, unix ms; nil for another value.
  private static let ended = """
    local function ended()
      if redis.call('STRLEN', record) > \(maximumRecordBytes) then return nil end
      local value = redis.call('GET', record) or ''
      return string.match(value, '"status":"([^"]+)"'), string.match(value, '"finishedAt":(%d+)')
    end
    """

  /// Returns when the job of a record ended, unix ms; nothing for another kind.
  private static let endOfRecordScript = RedisScript(
    keys: ["record"], arguments: ["kind"],
    """
    \(ended)
    local status, at = ended()
    if status == 'accepted' or kind == 'ended' and status ~= 'retrying' and status ~= 'deferred' then return at end
    return false
    """)

  static func endOfRecord(record: [UInt8], kind: String) -> RedisCall {
    endOfRecordScript.call(keys: record, arguments: kind)
  }

  /// Removes a record that was not replaced. Returns whether it was removed, 1 or 0.
  private static let removeRecordScript = RedisScript(
    keys: ["record"], arguments: ["finishedAt"],
    """
    \(ended)
    local status, at = ended()
    if at ~= finishedAt or status == 'retrying' or status == 'deferred' then return 0 end
    return redis.call('DEL', record)
    """)

  static func removeRecord(record: [UInt8], finishedAt: Int64) -> RedisCall {
    removeRecordScript.call(keys: record, arguments: finishedAt)
  }

  // MARK: - Fleet: leases, and what the workers of a fleet do for each other

  /// Begins or renews a lease. A heartbeat that has expired is written again if no reaper has taken the jobs.
  ///
  /// - `ttl`: that of the heartbeat, in ms.
  /// - `report`: the worker's report, JSON.
  /// - `word`: the seal that the worker knows, or proposes, for a queue that has none.
  ///
  /// Returns {state, length of the in-flight and the landing list, seal}, a ``HeartbeatAnswer``.
  private static let heartbeatScript = RedisScript(
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

  static func heartbeat(
    heartbeat: String, workers: String, inflight: String, tombstone: String, landing: String, seal: String,
    worker: String, ttl: Int64, report: [UInt8], word: String
  ) -> RedisCall {
    heartbeatScript.call(
      keys: heartbeat, workers, inflight, tombstone, landing, seal, arguments: worker, ttl, report, word)
  }

  /// Ends a lease. The worker's name stays for the reaper if jobs are left, or may still arrive.
  ///
  /// `wait`: how long jobs may still arrive, in ms; 0 if none can. Returns 1.
  private static let leaveScript = RedisScript(
    keys: ["heartbeat", "workers", "inflight", "promoter", "landing"], arguments: ["worker", "wait"],
    """
    local left = redis.call('LLEN', inflight) + redis.call('LLEN', landing)
    local isPromoter = redis.call('GET', promoter) == worker
    if left == 0 and wait == '0' then redis.call('SREM', workers, worker) end
    if isPromoter then redis.call('DEL', promoter) end
    if wait == '0' then redis.call('DEL', heartbeat) else redis.call('PEXPIRE', heartbeat, wait) end
    return 1
    """)

  static func leave(
    heartbeat: String, workers: String, inflight: String, promoter: String, landing: String, worker: String, wait: Int64
  ) -> RedisCall {
    leaveScript.call(keys: heartbeat, workers, inflight, promoter, landing, arguments: worker, wait)
  }

  /// Hands up to `most` jobs of a worker that leaves back to the front of the queue, the oldest first.
  ///
  /// Returns the number of jobs; 0 also if the queue's key is not a list or the seal is lost.
  private static let handBackAllScript = RedisScript(
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

  static func handBackAll(inflight: String, landing: String, queue: String, seal: String, most: Int) -> RedisCall {
    handBackAllScript.call(keys: inflight, landing, queue, seal, arguments: most)
  }

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
  private static let reapScript = RedisScript(
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
        local element = redis.call('LPOP', inflight)
        if not element then break end
        job = element
        local _, last, count = string.find(job, '^MARTLET1 (%d+) ')
        local _, first, state = string.find(job, '^MARTLET1 %d+ %d+ %S+ (%d+)\\n')
        count = tonumber(count or 0) + 1
        if last then job = 'MARTLET1 ' .. count .. ' ' .. string.sub(job, last + 1) end
        if count > tonumber(crashes) then
          refused = place(inflight, element, 'ZADD', dead, at, head .. job)
          buried = buried + 1
          letters[buried] = string.sub(job, 1, (first or 0) + (state or 0) + \(QueueLimits.buriedBeginning))
        else
          if last then job = '\(Seal.marker)' .. word .. ' ' .. job end
          refused = place(inflight, element, 'RPUSH', queue, job)
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

  static func reap(
    heartbeat: String, inflight: String, queue: String, workers: String, dead: String, tombstone: String,
    landing: String, seal: String, drained: String, worker: String, most: Int, crashes: Int, at: Int64, head: [UInt8],
    ttl: Int64
  ) -> RedisCall {
    reapScript.call(
      keys: heartbeat, inflight, queue, workers, dead, tombstone, landing, seal, drained, arguments: worker, most,
      crashes, at, head, ttl)
  }

  /// Moves jobs that are due to the front of the queue, and elects the worker as promoter if the queue has none. The
  /// promoter also removes cancellations that have ended, and the flags of the control string that are not needed.
  ///
  /// `ttl`: that of the promoter, in ms. `most`: jobs at most, of each sorted set.
  ///
  /// Returns {jobs moved, ms until the next is due or -1, the control string or false}; {-1, -1, the control string} if
  /// another worker is the promoter, the seal is lost, or the queue's key is not a list. A ``PromotionAnswer``.
  private static let promoteScript = RedisScript(
    keys: ["promoter", "queue", "seal", "control", "cancelled", "drained", "retry", "scheduled"],
    arguments: ["worker", "ttl", "most"],
    """
    \(changing)
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

  static func promote(
    promoter: String, queue: String, seal: String, control: String, cancelled: String, drained: String, retry: String,
    scheduled: String, worker: String, ttl: Int64, most: Int
  ) -> RedisCall {
    promoteScript.call(
      keys: promoter, queue, seal, control, cancelled, drained, retry, scheduled, arguments: worker, ttl, most)
  }

  /// Moves jobs of broadcasts that an earlier version has paused to the front of the queue: who claims them pauses them
  /// again. Returns the number of jobs that are left, 0 also if the seal is lost or the queue's key is not a list.
  private static let adoptPausedScript = RedisScript(
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

  static func adoptPaused(jobs: String, queue: String, seal: String, most: Int) -> RedisCall {
    adoptPausedScript.call(keys: jobs, queue, seal, arguments: most)
  }

  /// Returns an array of the value of the field `watched` of the minute, or the present minute if it is not that of the keys; then
  /// nothing has changed.
  ///
  /// A field that has a fallback is not added to a full hash.
  ///
  /// - `minute`, `hour`: the hashes.
  /// - `number`: the minute of the keys, since 1970.
  /// - `minuteLife`, `hourLife`: how long they are kept, in s.
  /// - `most`: fields at most.
  /// - `watched`: the name of a field.
  /// - `additions`: of each the name of a field, its fallback (empty without one), and the amount.
  static let addCountersScript = RedisScript(
    keys: ["minute", "hour"], arguments: ["number", "minuteLife", "hourLife", "most", "watched", "additions..."],
    """
    local now = math.floor(tonumber(redis.call('TIME')[1]) / 60)
    if now ~= tonumber(number) then return now end
    local all = {{minute, minuteLife, redis.call('HLEN', minute)}, {hour, hourLife, redis.call('HLEN', hour)}}
    for _, counters in ipairs(all) do
      local key, life, room = counters[1], counters[2], tonumber(most) - counters[3]
      for place = additions + 1, #ARGV, 3 do
        local field, fallback, amount = ARGV[place], ARGV[place + 1], ARGV[place + 2]
        if fallback ~= '' and room <= 0 and redis.call('HEXISTS', key, field) == 0 then field = fallback end
        if redis.call('HINCRBY', key, field, amount) == tonumber(amount) then room = room - 1 end
      end
      redis.call('EXPIRE', key, life)
    end
    return {tonumber(redis.call('HGET', minute, watched) or 0)}
    """)

  static func addCounters(
    minute: String, hour: String, number: Int64, minuteLife: Int64, hourLife: Int64, most: Int, watched: String,
    additions: RedisList
  ) -> RedisCall {
    addCountersScript.call(keys: minute, hour, arguments: number, minuteLife, hourLife, most, watched, additions)
  }

  // MARK: - Broadcasts

  /// Writes the progress of a broadcast: a line with its cursor, which never goes back, then JSON. Only the line of what is
  /// stored is read.
  ///
  /// - `listed`: empty if the list stays as it is.
  ///
  /// Returns 1; 0 if the stored cursor is further; -1 if the worker is fenced.
  private static let commitProgressScript = RedisScript(
    keys: ["progress", "list", "tombstone"], arguments: ["cursor", "value", "listed", "ttl"],
    """
    if redis.call('EXISTS', tombstone) == 1 then return -1 end
    redis.call('PEXPIRE', progress, ttl)
    redis.call('PEXPIRE', list, ttl)
    local reached = string.match(redis.call('GETRANGE', progress, 0, #cursor), '^[%d~]%C*')
    if reached and reached > cursor then return 0 end
    redis.call('SET', progress, value, 'PX', ttl)
    if listed ~= '' then redis.call('SET', list, listed, 'PX', ttl) end
    return 1
    """)

  static func commitProgress(
    progress: String, list: String, tombstone: String, cursor: String, value: [UInt8], listed: [UInt8], ttl: Int64
  ) -> RedisCall {
    commitProgressScript.call(keys: progress, list, tombstone, arguments: cursor, value, listed, ttl)
  }

  /// Removes the progress of a broadcast, unless the worker is fenced. Returns the number of keys removed.
  private static let clearProgressScript = RedisScript(
    keys: ["progress", "list", "tombstone"],
    """
    if redis.call('EXISTS', tombstone) == 1 then return 0 end
    return redis.call('DEL', progress, list)
    """)

  static func clearProgress(progress: String, list: String, tombstone: String) -> RedisCall {
    clearProgressScript.call(keys: progress, list, tombstone)
  }

  /// Writes what a broadcast does, for operators. The time at which an earlier attempt began stays. The pause of a
  /// broadcast that has ended is removed.
  ///
  /// - `entry`, `ttl`, `at`: JSON of ``BroadcastEntry``, its TTL in ms, and the time in unix ms.
  /// - `most`: entries of `latest` at most.
  /// - `hasEnded`: 1 or 0.
  private static let writeBroadcastScript = RedisScript(
    keys: ["latest", "broadcast", "control", "pauses"], arguments: ["id", "entry", "ttl", "at", "most", "hasEnded"],
    """
    \(changing)
    \(unpausing)
    local old, nonce = redis.call('MGET', broadcast)[1], string.match(entry, '"nonce":"[^"]*"')
    local since = old and nonce and string.find(old, nonce, 1, true) and string.match(old, '"startedAt":%d+')
    if since then entry = string.gsub(entry, '"startedAt":%d+', since) end
    redis.call('PERSIST', latest)
    redis.call('SET', broadcast, entry, 'PX', ttl)
    redis.call('ZADD', latest, at, id)
    redis.call('ZREMRANGEBYRANK', latest, 0, -1 - most)
    if hasEnded == '1' then unpause(control, pauses, id) end
    return 1
    """)

  static func writeBroadcast(
    latest: String, broadcast: String, control: String, pauses: String, id: String, entry: [UInt8], ttl: Int64,
    at: Int64,
    most: Int, hasEnded: Int
  ) -> RedisCall {
    writeBroadcastScript.call(keys: latest, broadcast, control, pauses, arguments: id, entry, ttl, at, most, hasEnded)
  }

  // MARK: - Control: the marks by which operators steer a queue

  /// Lua pattern of a ``ControlState`` that asks that no job is claimed.
  package static let pausedPattern = "^%d+ %u*P"

  /// Lua: `change(key, add, remove, text)` changes the letters of a ``ControlState`` and raises its version. It keeps
  /// what is behind the letters unless `text` is given, deletes the key if no letter is left, and returns the value, or
  /// false without one.
  package static let changing = """
    local function change(key, add, remove, text)
      local old = redis.call('MGET', key)[1]
      local version, letters, rest = string.match(old or '', '^(%d+) (%u*)(.*)$')
      version, letters, rest = tonumber(version or 0), letters or '', text or rest or ''
      if remove ~= '' then letters = string.gsub(letters, remove, '') end
      if add ~= '' and not string.find(letters, add, 1, true) then letters = letters .. add end
      if letters == '' then
        if old then redis.call('DEL', key) end
        return false
      end
      \(RedisScript.clock)
      if version >= \(NumberRange.counts.upperBound) then version = 0 end
      version = math.max(version + 1, now)
      local new = string.format('%.0f', version) .. ' ' .. letters .. rest
      redis.call('PERSIST', key)
      redis.call('SET', key, new)
      return new
    end
    """

  /// Lua: `unpause(control, pauses, id)` removes the pause of a broadcast. Returns whether there was one. Needs ``changing``.
  package static let unpausing = """
    local function unpause(control, pauses, id)
      local count = redis.pcall('HLEN', pauses)
      if redis.pcall('HDEL', pauses, id) ~= 1 then return false end
      if count == 1 then change(control, '', 'B') else change(control, 'B', '') end
      return true
    end
    """

  /// Drains a worker under its new name.
  private static let keepDrainedScript = RedisScript(
    keys: ["control", "drained"], arguments: ["old", "new"],
    """
    \(changing)
    redis.call('PERSIST', drained)
    redis.call('SADD', drained, new)
    redis.call('SREM', drained, old)
    change(control, 'D', '')
    return 1
    """)

  static func keepDrained(control: String, drained: String, old: String, new: String) -> RedisCall {
    keepDrainedScript.call(keys: control, drained, arguments: old, new)
  }

  // MARK: - How a job is found by its id

  /// Lua: `find(key, score, head)` returns the element of a sorted set that has this score and begins with `head`, by
  /// binary search: elements of one score are sorted by their bytes. False if there is none.
  static let finding = """
    local function precedes(a, b)
      for i = 1, math.min(#a, #b) do
        local x, y = string.byte(a, i), string.byte(b, i)
        if x ~= y then return x < y end
      end
      return #a < #b
    end
    local function find(key, score, head)
      local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
      local high = redis.call('ZCOUNT', key, '-inf', score)
      while low < high do
        local middle = math.floor((low + high) / 2)
        local element = redis.call('ZRANGE', key, middle, middle)[1]
        local start = string.sub(element, 1, #head)
        if start == head then return element end
        if precedes(start, head) then low = middle + 1 else high = middle end
      end
      return false
    end
    """

  /// Lua: `locate(due, sets)` reads a ``DueLocator`` and returns its letter, score and element, if the element is still
  /// there. `sets` has the key of each letter.
  package static let locating = """
    \(finding)
    local function locate(due, sets)
      local value = redis.call('MGET', due)[1]
      local letter, score, head = string.match(value or '', '^(%l) (%-?%d[%d.e+-]*) (.*)$')
      local key = letter and tonumber(score) and sets[letter]
      if not key then return false end
      return letter, score, find(key, score, head)
    end
    """

  /// Makes a scheduled job due now. Returns 1, or 0 if it is not scheduled.
  private static let hastenScript = RedisScript(
    keys: ["due", "scheduled"],
    """
    \(locating)
    local _, _, element = locate(due, {s = scheduled})
    if not element then return 0 end
    \(RedisScript.clock)
    redis.call('DEL', due)
    redis.call('ZADD', scheduled, string.format('%.0f', now), element)
    return 1
    """)

  static func hasten(due: String, scheduled: String) -> RedisCall {
    hastenScript.call(keys: due, scheduled)
  }
}

extension QueueKeys {
  /// Claims up to `count` jobs that wait in the queue, or that have landed.
  package func claim(
    landed: Bool = false, by worker: String, upTo count: Int, noncePrefix: String, _ mode: DeliveryMode
  ) -> RedisCall {
    QueueScripts.claim(
      source: landed ? landing(worker) : queue, inflight: inflight(worker), heartbeat: heartbeat(worker), seal: seal,
      dead: dead, control: control, queue: queue, count: count, nonces: noncePrefix, mode: mode.rawValue)
  }
}

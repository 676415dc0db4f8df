import Events
import Redis

extension QueueScripts {
  /// A longer value under a record's key is not a record.
  private static let maximumRecordBytes = 262_144

  /// Lua: `write(key, record, ttl, author, nonce)` writes a record. It returns false, and writes nothing, if another job
  /// with the same id has a record there and has not ended, or ended while this job was claimed. The record of a
  /// duplicate, which may end before the job that it repeats, is replaced, and replaces none of another job.
  ///
  /// A record is the job's own if it has the job's `nonce`, which stays the same from the first claim to the end, or its
  /// `author`: that of the last record that the job wrote and was settled with (``AttemptState/recordAuthor``), empty for a
  /// first attempt. The author suffices where record and settlement are one step, and for records of earlier versions,
  /// which have no nonce. A worker that was taken for dead may write late: the end of its own job stays.
  ///
  /// If there is no record yet, this costs what a SET does.
  static let writing = """
    local function isOver(record) return record.status ~= 'retrying' and record.status ~= 'deferred' end
    local function write(key, record, ttl, author, nonce)
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
            if isOver(was) and not isOver(new) and not endedBefore then return true end
          elseif by ~= author then
            if new.status == 'duplicate' then return true end
            if was.status ~= 'duplicate' and not endedBefore then return false end
          end
        end
      end
      redis.call('SET', key, record, 'PX', ttl)
      return true
    end
    """

  /// Acknowledges many jobs, with their records.
  ///
  /// KEYS
  ///   1  the in-flight list
  ///   2… the record of each job
  /// ARGV
  ///   1  the TTL of the records in ms
  ///   2  the delivery mode; at-most-once has no in-flight list
  ///   3  arguments of each job, 2 or 3
  ///   4… of each job: the element; the record (empty: none); with 3 arguments, the author of its record before
  /// Returns an ``AcknowledgeAnswer``.
  static let acknowledge = RedisScript(
    """
    \(writing)
    local answer, words, isKept = {}, tonumber(ARGV[3]), ARGV[2] ~= 'at-most-once'
    if not isKept then redis.call('DEL', KEYS[1]) end
    for i = 2, #KEYS do
      local at = 4 + (i - 2) * words
      if not isKept or redis.call('LREM', KEYS[1], -1, ARGV[at]) == 1 then
        local record = ARGV[at + 1]
        if record ~= '' and not write(KEYS[i], record, ARGV[1], words > 2 and ARGV[at + 2] or '') then
          answer[#answer + 1] = 1 - i
        end
      else
        answer[#answer + 1] = i - 2
      end
    end
    return answer
    """)

  /// Ends the claim of one job in any way.
  ///
  /// KEYS
  ///   1  the in-flight list
  ///   2  the target: the queue, a sorted set or the hash of paused jobs, or KEYS 1 for none
  ///   3  the record, or KEYS 1 for none
  ///   4  the reply list, or KEYS 1 for none
  ///   5  the locator, or KEYS 1 for none; of `pause`, the queue
  ///   6  the control string, if the job is scheduled under an id of its producer, or is a broadcast that ends, or KEYS 1;
  ///      of `retry`, the scheduled jobs if the job replaces one of them; of `pause`, the paused broadcasts
  ///   7… of each reader of a notification record: its stream, its credentials, its device
  ///   then the stream of events, if there are any
  ///   then of a broadcast that ends: the paused broadcasts and their jobs
  /// ARGV
  ///   1  the element
  ///   2  the delivery mode; at-most-once has no in-flight list
  ///   3  `acknowledge`, `retry`, `schedule`, `bury`, `handback` or `pause`
  ///   4  the element in the target
  ///   5  its score; of `retry`, the delay in ms; of `pause`, the field
  ///   6  entries of the target at most, or empty; of `pause`, the seal in front of the element
  ///   7  the record, JSON, or empty
  ///   8  the TTL of the record in ms
  ///   9  the author of the record before
  ///  10  the letter of the locator, a space, and the beginning of the element in the target
  ///  11  how long the locator outlives the due time, in ms
  ///  12  the number of notification records
  ///  13… of each notification record: the record, JSON; the names of its readers, a JSON array
  ///   then the events, JSON
  ///   then of a broadcast that ends: its id, whose pause is removed
  ///
  /// `schedule` replaces the job that is scheduled under the same id. So does `retry` if the lookup
  /// of the job has failed. A broadcast that an operator has resumed meanwhile is not paused, but goes back to the queue.
  /// Returns a ``SettleAnswer``.
  static let settle = RedisScript(
    """
    \(writing)
    \(ControlScripts.locating)
    \(ControlScripts.changing)
    local verb, dropped, isWritten = ARGV[3], 0, true
    local types = {handback = 'list', pause = 'hash'}
    local isEnded = (verb == 'acknowledge' or verb == 'bury') and KEYS[6] ~= KEYS[1]
    local id, paused, held
    if isEnded then
      id = table.remove(ARGV)
      paused = table.remove(KEYS)
      held = table.remove(KEYS)
    end
    if verb ~= 'acknowledge' then
      local found = redis.call('TYPE', KEYS[2]).ok
      if found ~= 'none' and found ~= (types[verb] or 'zset') then return -1 end
    end
    if verb == 'pause' then
      local found = redis.call('TYPE', KEYS[5]).ok
      if found ~= 'none' and found ~= 'list' then return -1 end
      local isFull = redis.call('HLEN', KEYS[2]) >= \(QueueLimits.maximumPausedJobs)
      if isFull and redis.pcall('HEXISTS', KEYS[6], string.match(ARGV[5], '^%S+')) == 1 then return -2 end
    end
    if ARGV[2] == 'at-most-once' then
      redis.call('DEL', KEYS[1])
    elseif redis.call('LREM', KEYS[1], -1, ARGV[1]) == 0 then
      return 0
    end
    if verb == 'handback' then
      redis.call('RPUSH', KEYS[2], ARGV[4])
    elseif verb == 'pause' then
      if redis.pcall('HEXISTS', KEYS[6], string.match(ARGV[5], '^%S+')) == 1 then
        redis.call('HSET', KEYS[2], ARGV[5], ARGV[4])
      else
        redis.call('RPUSH', KEYS[5], ARGV[6] .. ARGV[4])
      end
    elseif verb ~= 'acknowledge' then
      local score = ARGV[5]
      local time = redis.call('TIME')
      local now = time[1] * 1000 + math.floor(time[2] / 1000)
      if verb == 'retry' then score = string.format('%.0f', now + ARGV[5]) end
      local _, scheduled, before
      if verb == 'schedule' then
        scheduled = KEYS[2]
      elseif verb == 'retry' and KEYS[6] ~= KEYS[1] and redis.call('TYPE', KEYS[6]).ok == 'zset' then
        scheduled = KEYS[6]
      end
      if scheduled and KEYS[5] ~= KEYS[1] then _, _, before = locate(KEYS[5], {s = scheduled}) end
      redis.call('ZADD', KEYS[2], score, ARGV[4])
      if before and before ~= ARGV[4] then redis.call('ZREM', scheduled, before) end
      if KEYS[5] ~= KEYS[1] then
        local letter, head = string.match(ARGV[10], '^(%l) (.*)$')
        local stays = string.format('%.0f', math.max(score - now, 0) + ARGV[11])
        redis.call('SET', KEYS[5], letter .. ' ' .. score .. ' ' .. head, 'PX', stays)
      end
      if verb == 'schedule' and KEYS[6] ~= KEYS[1] then
        local control = redis.call('MGET', KEYS[6])[1]
        if not control or not string.find(control, '^%d+ %u*S') then change(KEYS[6], 'S', '') end
      end
      if ARGV[6] ~= '' then dropped = redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - ARGV[6]) end
    end
    if ARGV[7] ~= '' then
      isWritten = write(KEYS[3], ARGV[7], ARGV[8], ARGV[9])
      if KEYS[4] ~= KEYS[1] then
        if redis.pcall('LPUSH', KEYS[4], ARGV[7]) == 1 then redis.pcall('EXPIRE', KEYS[4], 3600) end
      end
    end
    local key = 7
    for place = 13, 11 + 2 * ARGV[12], 2 do
      for _, name in ipairs(cjson.decode(ARGV[place + 1])) do
        if redis.pcall('HEXISTS', KEYS[key + 1], name) == 1 or redis.pcall('EXISTS', KEYS[key + 2]) == 1 then
          redis.pcall('XADD', KEYS[key], 'MAXLEN', '~', 1000, '*', 'notification', ARGV[place])
          redis.pcall('EXPIRE', KEYS[key], 2592000)
        end
        key = key + 3
      end
    end
    if isEnded then
      \(ControlScripts.unholding)
      unhold(KEYS[6], held, paused, id)
    end
    local refusal
    for place = 13 + 2 * ARGV[12], #ARGV do
      local reply = \(EventStream.append(to: "KEYS[#KEYS]", "ARGV[place]"))
      if type(reply) == 'table' and reply.err then refusal = reply.err end
    end
    if refusal then return {1 + dropped, isWritten and 1 or 0, refusal} end
    return isWritten and 1 + dropped or {1 + dropped}
    """)
}

/// The answer of ``QueueScripts/acknowledge``: `place` of each job that was not in the in-flight list, `-1 - place` of
/// each whose record was not written because another job has one there. Places count from 0.
struct AcknowledgeAnswer: Equatable {
  var missing: Set<Int> = []
  var keptRecords: Set<Int> = []

  init(_ value: RedisValue) {
    for place in (value.array ?? []).compactMap(\.integer) {
      if place < 0 { keptRecords.insert(Int(-1 - place)) } else { missing.insert(Int(place)) }
    }
  }
}

/// The answer of ``QueueScripts/settle``.
enum SettleAnswer: Equatable {
  /// -1: the key of the target holds another type. Nothing was written.
  case wrongType
  /// -2: too many jobs of paused broadcasts are kept aside. Nothing was written.
  case full
  /// 0: the job was not in the in-flight list. Nothing was written.
  case missing
  /// 1 and the number of dead letters that were deleted because there were too many; in an array if another job has a
  /// record under the id. If Redis refused the events: an array of that number, 0 if another job has a record, and the
  /// error.
  case settled(droppedLetters: Int, keptRecord: Bool, refusedEvents: String? = nil)

  init(_ value: RedisValue) {
    let number = value.integer ?? value.array?.first?.integer ?? 0
    switch number {
    case -2: self = .full
    case ..<0: self = .wrongType
    case 0: self = .missing
    default:
      let parts = value.array ?? []
      let isKept = parts.count == 1 || (parts.count > 1 && parts[1].integer == 0)
      self = .settled(
        droppedLetters: Int(number) - 1, keptRecord: isKept, refusedEvents: parts.count > 2 ? parts[2].string : nil)
    }
  }
}

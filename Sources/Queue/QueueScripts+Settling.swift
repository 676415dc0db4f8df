import Redis

/// The ways in which a job leaves a worker, one script for each. A job that is not in the in-flight list stays as it is.
extension QueueScripts {
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
  static let acknowledge = RedisScript(
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
        local isRun, isWritten = pcall(write, KEYS[records + place], record, ttl, '')
        if not isRun then refusal = isWritten elseif not isWritten then answer[#answer + 1] = -place end
      end
    end
    if refusal then answer[#answer + 1] = type(refusal) == 'table' and refusal.err or refusal end
    return answer
    """)

  /// Acknowledges a job with all that it leaves. Returns a ``SettleAnswer``.
  static let finish = RedisScript(
    keys: ["inflight"] + leftKeys, arguments: ["mode", "element"] + leftArguments,
    """
    \(taking)
    \(leaving)
    if not take() then return 0 end
    return leave(0)
    """)

  /// Moves a job to a sorted set: the retried jobs, the scheduled jobs or the dead letters.
  ///
  /// - `target`, `moved`: the set, and the element in it.
  /// - `score`, `delay`: its score in unix ms; if that is empty, the delay in ms from now.
  /// - `held`, `paused`: the paused broadcasts, and the id of one that is kept without a date; or empty. If it was resumed
  ///   meanwhile, it is due at once.
  /// - `due`, `letter`, `head`, `outlives`: the locator, its letter, the beginning of `moved`, and how long the locator
  ///   outlives the due time in ms. `due` may be `inflight` for none.
  /// - `replaced`: the set of the job with the same locator that is replaced, or `inflight`.
  /// - `control`: the control string if it has to say that jobs are scheduled under ids of producers, or `inflight`.
  /// - `most`: entries of `target` at most, or empty.
  ///
  /// Returns a ``SettleAnswer``.
  static let move = RedisScript(
    keys: ["inflight", "target", "held", "due", "replaced", "control"] + leftKeys,
    arguments: ["mode", "element", "moved", "score", "delay", "paused", "letter", "head", "outlives", "most"]
      + leftArguments,
    """
    \(taking)
    \(putting)
    \(leaving)
    \(ControlScripts.locating)
    \(ControlScripts.changing)
    local kind, dropped, before = redis.call('TYPE', target).ok, 0, nil
    if kind ~= 'none' and kind ~= 'zset' then return -1 end
    if replaced ~= inflight then before = select(3, locate(due, {s = replaced})) end
    if not take() then return 0 end
    \(RedisScript.clock)
    if score == '' then score = string.format('%.0f', now + delay) end
    if paused ~= '' and redis.pcall('HEXISTS', held, paused) ~= 1 then score = string.format('%.0f', now) end
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

  /// Hands a job back to the front of its queue, as `sealed`. Returns a ``SettleAnswer``.
  static let handBack = RedisScript(
    keys: ["inflight", "queue"], arguments: ["mode", "element", "sealed"],
    """
    \(taking)
    \(putting)
    local kind = redis.call('TYPE', queue).ok
    if kind ~= 'none' and kind ~= 'list' then return -1 end
    if not take() then return 0 end
    return put('RPUSH', queue, sealed) or 1
    """)
}

/// The answer of ``QueueScripts/acknowledge``: `place` of each job that was not in the in-flight list, `-1 - place` of
/// each whose record was not written because another job has one there. Places count from 0, as the keys of the records.
/// Behind them the error by which Redis refused records, if it did.
struct AcknowledgeAnswer: Equatable {
  var missing: Set<Int> = []
  var keptRecords: Set<Int> = []
  var refusal: String?

  /// Returns nil if the oldest jobs of the list were others.
  init?(_ value: RedisValue) {
    guard let places = value.array else { return nil }
    for place in places.compactMap(\.integer) {
      if place < 0 { keptRecords.insert(Int(-1 - place)) } else { missing.insert(Int(place)) }
    }
    refusal = places.last?.string
  }
}

/// The answer of ``QueueScripts/finish``, ``QueueScripts/move`` and ``QueueScripts/handBack``.
enum SettleAnswer: Equatable {
  /// -1: the key of the target holds another type. Nothing was written.
  case wrongType
  /// 0: the job was not in the in-flight list. Nothing was written.
  case missing
  /// 1 and the number of dead letters that were deleted because there were too many; in an array if another job has a
  /// record under the id. If Redis refused something of what it leaves: an array of that number, 0 if another job has a
  /// record, the error of the events or an empty text, and that of the record.
  case settled(droppedLetters: Int, keptRecord: Bool, refusedEvents: String? = nil, refusedRecord: String? = nil)

  init(_ value: RedisValue) {
    let number = value.integer ?? value.array?.first?.integer ?? 0
    switch number {
    case ..<0: self = .wrongType
    case 0: self = .missing
    default:
      let parts = value.array ?? []
      let isKept = parts.count == 1 || (parts.count > 1 && parts[1].integer == 0)
      let refusals = parts.dropFirst(2).map { $0.string.flatMap { $0.isEmpty ? nil : $0 } }
      self = .settled(
        droppedLetters: Int(number) - 1, keptRecord: isKept, refusedEvents: refusals.first ?? nil,
        refusedRecord: refusals.dropFirst().first ?? nil)
    }
  }
}

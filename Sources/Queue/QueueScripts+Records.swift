import Events
import Jobs
import PushModel

/// What a job leaves behind when its claim ends: fragments of the scripts that end claims.
extension QueueScripts {
  /// A longer value under a record's key is not a record.
  static let maximumRecordBytes = 262_144

  /// Lua: `write(key, record, ttl, author, nonce)` writes a record. It returns false, and writes nothing, if another job
  /// with the same id has a record there and has not ended, or ended while this job was claimed. The record of a duplicate,
  /// which may end before the job that it repeats, is replaced, and replaces none of another job.
  ///
  /// A record is the job's own if it has the job's `nonce`, which stays the same from the first claim to the end, or its
  /// `author`: that of the last record that the job wrote and was settled with (``AttemptState/recordAuthor``), empty for a
  /// first attempt. The author suffices where record and settlement are one step, and for records of earlier versions,
  /// which have no nonce. Elsewhere a worker that was taken for dead may write late, and its job's record of a later
  /// ``AttemptTurn`` stays: it returns nil.
  ///
  /// If there is no record yet, this costs what a SET does.
  package static let writing = """
    \(AttemptTurn.comparing)
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
            if isEarlier(new, was) then return nil end
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
          local isRun, result = pcall(write, record, json, ttl, author)
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
}

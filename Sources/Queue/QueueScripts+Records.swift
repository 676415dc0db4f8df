import Redis

extension QueueScripts {
  /// A longer value under a record's key is no record.
  private static let maximumRecordBytes = 262_144

  /// Lua: `write(key, record, ttl, author)` writes a record, unless another job with the same id has one there and is not
  /// over, or ended while this one was in hand. False: it was left as it is. `author` is that of the last record which the
  /// job itself wrote (``AttemptState/recordAuthor``); empty for a first attempt.
  ///
  /// With nothing there it costs what a SET does.
  static let writing = """
    local function write(key, record, ttl, author)
      if redis.call('SET', key, record, 'PX', ttl, 'NX') then return true end
      local size = redis.pcall('STRLEN', key)
      if type(size) == 'number' and size <= \(maximumRecordBytes) then
        local old = redis.call('GET', key)
        local isRead, was = pcall(cjson.decode, old)
        if old ~= record and isRead and type(was) == 'table' then
          local by = tostring(was.worker) .. ' ' .. string.format('%.0f', tonumber(was.claimedAt) or 0)
          local isOver = was.status ~= 'retrying' and was.status ~= 'deferred'
          local since = cjson.decode(record).claimedAt
          if by ~= author and not (isOver and (tonumber(was.finishedAt) or 0) < since) then return false end
        end
      end
      redis.call('SET', key, record, 'PX', ttl)
      return true
    end
    """

  /// Writes the record of a job that is in nobody's hands. KEYS record; ARGV record, its TTL in ms. 0: it was left as it is.
  static let record = RedisScript(
    """
    \(writing)
    return write(KEYS[1], ARGV[1], ARGV[2], '') and 1 or 0
    """)
}

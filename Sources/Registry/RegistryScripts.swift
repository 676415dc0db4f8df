import Events
import PushModel
import Redis

/// The atomic steps of the registry.
enum RegistryScripts {
  // MARK: - One server

  /// - `stream`: the stream of events; the first of `places` if no events are written.
  /// - `places`: for each transaction, if a set is compared the set and the record of each of its entries; then for each
  ///   change the record and the sets that its entry joins or leaves.
  /// - `transactions`: for each
  ///   1. the number of changes
  ///   2. how many entries the compared set has; empty if none is compared
  ///   3. how many of them are compared, then the record of each
  ///
  ///   then for each change
  ///   1. the entry of sets
  ///   2. the record that was read; empty if there was none
  ///   3. the new record; empty to delete it, = to keep it
  ///   4. a letter for each set: u joins a set, a joins a sorted set, h joins a hash, U, A and H leave one, M leaves a set that must
  ///      have it
  ///   5. how many entries a set may have with this one; empty for any number
  ///   6. 1 if Redis must accept the change when it is full: PERSIST changes nothing, and allows the next write
  ///   7. the lifetime of the new record, in s; empty for any time, KEEPTTL for that of the record that was read
  ///   8. events, one a line
  ///
  /// Returns the error of the stream (empty: none), and for each transaction {what differs, the number of the change, a
  /// detail}: `record`, with the one found; `type` of a set, with its place; `absent`; `full`; `others`, the compared
  /// set; or `done`, with 1 or 0 for each set that was left.
  static let applyScript = RedisScript(
    keys: ["stream", "places..."], arguments: ["transactions..."],
    comparing + writing + """
      local a, k, replies = transactions, places, {}
      while a < #ARGV do
        local count, size, others = tonumber(ARGV[a + 1]), ARGV[a + 2], tonumber(ARGV[a + 3])
        local what, number, detail = nil, 0, ''
        a = a + 3
        if size ~= '' then
          if othersDiffer(k + 1, a, size, others) then what = 'others' end
          k, a = k + 1 + others, a + others
        end
        local changes = {}
        for i = 1, count do
          changes[i] = {k + 1, a + 1}
          if not what then
            what, detail = difference(k + 1, a + 1)
            number = i
          end
          k, a = k + 1 + #ARGV[a + 4], a + 8
        end
        if not what then
          what, detail = 'done', ''
          for _, change in ipairs(changes) do detail = detail .. write(change[1], change[2]) end
        end
        replies[#replies + 1] = {what, number, detail or ''}
      end
      return {refusal, replies}
      """)

  static func apply(stream: String, places: RedisList, transactions: RedisList) -> RedisCall {
    applyScript.call(keys: stream, places, arguments: transactions)
  }

  /// Lua functions. `k` and `a` are the places of the first key and argument.
  private static let comparing = """
    local kinds = {u = 'set', U = 'set', M = 'set', a = 'zset', A = 'zset', h = 'hash', H = 'hash'}
    local function record(key)
      local found = redis.pcall('GET', key)
      return type(found) == 'string' and found or ''
    end
    local function othersDiffer(k, a, size, count)
      if redis.call('SCARD', KEYS[k]) ~= tonumber(size) then return true end
      for i = 1, count do
        local entry = string.sub(KEYS[k + i], \(RegistryKeys.tokens.utf8.count + 1))
        if record(KEYS[k + i]) ~= ARGV[a + i] or redis.call('SISMEMBER', KEYS[k], entry) == 0 then return true end
      end
    end
    local function difference(k, a)
      local entry, letters, limit, found = ARGV[a], ARGV[a + 3], tonumber(ARGV[a + 4]), record(KEYS[k])
      if found ~= ARGV[a + 1] then return 'record', found end
      for i = 1, #letters do
        local set, letter = KEYS[k + i], string.sub(letters, i, i)
        local kind = redis.call('TYPE', set).ok
        if kind ~= 'none' and kind ~= kinds[letter] then return 'type', tostring(i) end
        local has = (letter == 'M' or limit and letter == 'u') and redis.call('SISMEMBER', set, entry)
        if letter == 'M' and has == 0 then return 'absent' end
        if limit and letter == 'u' and redis.call('SCARD', set) + 1 - has > limit then return 'full' end
      end
    end

    """

  private static let writing = """
    local refusal = ''
    local function write(k, a)
      local entry, new, letters, ttl, left = ARGV[a], ARGV[a + 2], ARGV[a + 3], ARGV[a + 6], ''
      if ARGV[a + 5] == '1' then redis.call('PERSIST', KEYS[k]) end
      if new == '' then
        redis.call('DEL', KEYS[k])
      elseif new ~= '=' then
        redis.call('SET', KEYS[k], new, unpack(ttl == '' and {} or ttl == 'KEEPTTL' and {ttl} or {'EX', ttl}))
      end
      for i = 1, #letters do
        local set, letter = KEYS[k + i], string.sub(letters, i, i)
        if letter == 'u' then redis.call('SADD', set, entry) end
        if letter == 'a' then redis.call('ZADD', set, 0, entry) end
        if letter == 'h' then
          redis.call('HSET', set, entry, new == '=' and ARGV[a + 1] or new)
          redis.call('EXPIRE', set, \(DeviceKind.activity.lifetime))
        end
        if letter == 'H' then left = left .. redis.call('HDEL', set, entry) end
        if letter == 'A' then left = left .. redis.call('ZREM', set, entry) end
        if letter == 'U' or letter == 'M' then left = left .. redis.call('SREM', set, entry) end
      end
      for event in string.gmatch(stream ~= KEYS[places + 1] and ARGV[a + 7] or '', '[^\\n]+') do
        local reply = \(EventStream.append(to: "stream", "event"))
        if type(reply) == 'table' and reply.err then refusal = reply.err end
      end
      return left
    end

    """

  // MARK: - A cluster, step by step
  //
  // Each script has one key, so that it runs on any node of a cluster, also while its slot moves; only an event is a second
  // key, with which a script waits until the slot has moved. Then Redis refuses to access a key that the script itself has
  // deleted, so none does. PERSIST changes nothing here; as the first write it makes a full Redis accept the next one.

  static let stepwise = [
    swapScript, joinScript, joinAudienceScript, joinActivityScript, leaveScript, openScript, overdueScript,
  ]

  /// - `metadata`, `outbox`: those of a token; the metadata twice if there is no event.
  /// - `expected`, `new`: the expected text, empty for none, and the new one; empty deletes the key.
  /// - `ttl`: the lifetime, in s, or KEEPTTL for that of the text before. `isForced`: 1 to write also if Redis is full.
  ///
  /// Returns {1 if written else 0, the text before}.
  private static let swapScript = RedisScript(
    keys: ["metadata", "outbox"], arguments: ["expected", "new", "ttl", "isForced", "event"],
    """
    local found = redis.pcall('GET', metadata)
    if type(found) ~= 'string' then found = '' end
    if found ~= expected then return {0, found} end
    if new == '' then
      redis.call('DEL', metadata)
    else
      if isForced == '1' then redis.call('PERSIST', metadata) end
      redis.call('SET', metadata, new, unpack(ttl == 'KEEPTTL' and {ttl} or {'EX', ttl}))
    end
    if outbox ~= metadata then
      \(EventOutbox.append(to: "outbox", "event"))
    end
    return {1, found}
    """)

  static func swap(
    metadata: String, outbox: String, expected: [UInt8], new: [UInt8], ttl: String, isForced: String, event: [UInt8]
  ) -> RedisCall {
    swapScript.call(keys: metadata, outbox, arguments: expected, new, ttl, isForced, event)
  }

  /// Adds a token to a user's set. `limit`: how many entries the set may have; empty for any number. `isForced`: 1 to write
  /// also if Redis is full.
  ///
  /// Returns 1 if the set contains the token now, 0 if it has too many entries.
  private static let joinScript = RedisScript(
    keys: ["set"], arguments: ["token", "limit", "isForced"],
    """
    limit = tonumber(limit)
    if limit and redis.call('SCARD', set) >= limit and redis.call('SISMEMBER', set, token) == 0 then return 0 end
    if isForced == '1' then redis.call('PERSIST', set) end
    redis.call('SADD', set, token)
    return 1
    """)

  static func join(set: String, token: String, limit: String, isForced: String) -> RedisCall {
    joinScript.call(keys: set, arguments: token, limit, isForced)
  }

  /// Adds a token to a shard of an audience, also if Redis is full. Returns 1.
  private static let joinAudienceScript = RedisScript(
    keys: ["shard"], arguments: ["token"],
    """
    redis.call('PERSIST', shard)
    redis.call('ZADD', shard, 0, token)
    return 1
    """)

  static func joinAudience(shard: String, token: String) -> RedisCall {
    joinAudienceScript.call(keys: shard, arguments: token)
  }

  /// Adds a token to the hash of a Live Activity, also if Redis is full. `ttl`: how long the hash is kept, in s. Returns 1.
  private static let joinActivityScript = RedisScript(
    keys: ["tokens"], arguments: ["token", "metadata", "ttl"],
    """
    redis.call('PERSIST', tokens)
    redis.call('HSET', tokens, token, metadata)
    redis.call('EXPIRE', tokens, ttl)
    return 1
    """)

  static func joinActivity(tokens: String, token: String, metadata: [UInt8], ttl: Int) -> RedisCall {
    joinActivityScript.call(keys: tokens, arguments: token, metadata, ttl)
  }

  /// Removes a token from a user's set that has more than `most` entries. Returns how many entries were removed.
  private static let leaveScript = RedisScript(
    keys: ["set"], arguments: ["most", "token"],
    """
    if redis.call('SCARD', set) <= tonumber(most) then return 0 end
    return redis.call('SREM', set, token)
    """)

  static func leave(set: String, most: Int, token: String) -> RedisCall {
    leaveScript.call(keys: set, arguments: most, token)
  }

  /// Writes an entry to a journal. `isForced`: 1 to write also if Redis is full. Returns 1.
  private static let openScript = RedisScript(
    keys: ["journal"], arguments: ["entry", "isForced"],
    """
    if isForced == '1' then redis.call('PERSIST', journal) end
    redis.call('ZADD', journal, redis.call('TIME')[1], entry)
    return 1
    """)

  static func open(journal: String, entry: String, isForced: String) -> RedisCall {
    openScript.call(keys: journal, arguments: entry, isForced)
  }

  /// Returns up to `most` entries of a journal that are older than `seconds`.
  private static let overdueScript = RedisScript(
    keys: ["journal"], arguments: ["seconds", "most"],
    """
    local latest = redis.call('TIME')[1] - seconds
    return redis.call('ZRANGE', journal, '-inf', latest, 'BYSCORE', 'LIMIT', 0, most)
    """)

  static func overdue(journal: String, seconds: Int, most: Int) -> RedisCall {
    overdueScript.call(keys: journal, arguments: seconds, most)
  }

  // MARK: - Refusals, channels

  /// A note of the same job that a later attempt has left stays.
  static let keepRefusalScript = RedisScript(
    keys: ["note"], arguments: ["json", "ttl"],
    """
    \(AttemptTurn.comparing)
    local isRead, was = pcall(cjson.decode, redis.call('GET', note) or '')
    local new = cjson.decode(json)
    if isRead and type(was) == 'table' and was.job == new.job and isEarlier(new, was) then return 0 end
    redis.call('SET', note, json, 'EX', ttl)
    return 1
    """)

  static func keepRefusal(note: String, json: [UInt8], ttl: Int) -> RedisCall {
    keepRefusalScript.call(keys: note, arguments: json, ttl)
  }

  static let keepGoneScript = RedisScript(
    keys: ["gone"], arguments: ["device", "since", "maximum", "ttl"],
    """
    local count = redis.call('HLEN', gone)
    if count >= tonumber(maximum) and redis.call('HEXISTS', gone, device) == 0 then return 0 end
    local known = tonumber(redis.call('HGET', gone, device) or '') or 0
    if known < tonumber(since) then redis.call('HSET', gone, device, since) end
    if count == 0 then redis.call('EXPIRE', gone, ttl) end
    return 1
    """)

  static func keepGone(gone: String, device: String, since: Int64, maximum: Int, ttl: Int) -> RedisCall {
    keepGoneScript.call(keys: gone, arguments: device, since, maximum, ttl)
  }

  /// - `channel`: the record.
  /// - `current`: the record that was read, empty if there was none. `new`: the next one, empty to remove it.
  ///
  /// Returns 1 if replaced, 0 if the record is not the current one.
  static let replaceChannelScript = RedisScript(
    keys: ["channel"], arguments: ["current", "new"],
    """
    if (redis.call('GET', channel) or '') ~= current then return 0 end
    if new == '' then redis.call('DEL', channel) else redis.call('SET', channel, new) end
    return 1
    """)

  static func replaceChannel(channel: String, current: [UInt8], new: [UInt8]) -> RedisCall {
    replaceChannelScript.call(keys: channel, arguments: current, new)
  }
}

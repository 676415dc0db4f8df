import Events
import PushModel
import Redis

/// The script that applies decisions: it compares that what was read is still stored, and then writes. It decides nothing.
enum ChangeScript {
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
  static let apply = RedisScript(
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
}

import Redis

/// What has to happen all at once. All keys are declared; what shrinks comes first, so that a full redis lets it pass.
package enum RegistryScripts {
  static let all = [
    cleanUser, cleanAudience, removeStale, deactivate, register, unregister, unregisterAll, replace, forget, evict,
  ]

  /// Reads a metadata key in Lua: its object, or nil when there is none that can be read.
  package static let read = """
    local function read(key)
      local text = redis.pcall('GET', key)
      if type(text) ~= 'string' then return nil end
      local ok, value = pcall(cjson.decode, text)
      if not ok or type(value) ~= 'table' then return nil end
      return value
    end
    local function text(value) if type(value) == 'string' then return value end return '' end
    local function fits(key, kind)
      local found = redis.call('TYPE', key).ok
      return found == 'none' or found == kind
    end
    local function misfits(kinds)
      for i, kind in pairs(kinds) do
        if not fits(KEYS[i], kind) then return redis.error_reply('WRONGTYPE ' .. KEYS[i] .. ' is no ' .. kind) end
      end
    end
    local function owner(value) return text(value.username):match('^%s*(.-)%s*$'):lower() end

    """

  /// Keeps a user's set within its limit.
  static let room = """
    -- How many have to leave for `token` to come, when `leaving` leaves anyway.
    local function surplus(set, limit, token, leaving)
      local count = redis.call('SCARD', set)
      if count < limit then return 0 end
      count = count + 1 - redis.call('SISMEMBER', set, token)
      if leaving and leaving ~= token then count = count - redis.call('SISMEMBER', set, leaving) end
      return count - limit
    end
    -- Takes up to `most` devices from a user. Their keys begin at KEYS[k], their arguments at ARGV[a]; one whose metadata
    -- has changed since it was read stays.
    local function evict(set, user, most, k, a)
      local gone = 0
      for i = k, #KEYS, 2 do
        if gone >= most then break end
        local found = redis.pcall('GET', KEYS[i])
        if type(found) ~= 'string' then found = '' end
        if found == ARGV[a + 2] and redis.call('SREM', set, ARGV[a]) == 1 then
          gone = gone + 1
          local value = read(KEYS[i])
          if value and owner(value) == user then
            redis.call('DEL', KEYS[i])
            if ARGV[a + 1] ~= '' then redis.pcall('ZREM', KEYS[i + 1], ARGV[a]) end
          end
        end
        a = a + 3
      end
      return gone
    end

    """

  /// KEYS: the user's set, then for each device its metadata and its audience's shard. ARGV: user, how many leave at most,
  /// then for each device its token, bundle id and metadata. Returns how many left.
  static let evict = RedisScript(read + room + "return evict(KEYS[1], ARGV[1], tonumber(ARGV[2]), 2, 3)")

  /// KEYS: the set, then the metadata of the first entries. ARGV: the owner, then the entries; those without a key
  /// are removed whatever the metadata says. Returns how many were removed.
  static let cleanUser = RedisScript(
    read + """
      local removed = 0
      for i = 2, #ARGV do
        local value = KEYS[i] and read(KEYS[i])
        if not value or owner(value) ~= ARGV[1] then removed = removed + redis.call('SREM', KEYS[1], ARGV[i]) end
      end
      return removed
      """)

  /// As ``cleanUser``, for a shard of an audience; ARGV[1] is the bundle id.
  static let cleanAudience = RedisScript(
    read + """
      local removed = 0
      for i = 2, #ARGV do
        local value = KEYS[i] and read(KEYS[i])
        if not value or text(value.bundleId) ~= ARGV[1] then removed = removed + redis.call('ZREM', KEYS[1], ARGV[i]) end
      end
      return removed
      """)

  /// KEYS for each device: metadata, the owner's set, the audience's shard. ARGV for each: token, owner, the latest
  /// registration that is stale (unix ms). Returns how many were removed.
  static let removeStale = RedisScript(
    read + """
      local removed = 0
      for i = 1, #KEYS, 3 do
        local token, user, latest = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
        local value = read(KEYS[i])
        local isStale = value and owner(value) == user and (tonumber(value.updatedAt) or 0) <= latest
        if isStale then removed = removed + redis.call('DEL', KEYS[i]) end
        if isStale or redis.call('EXISTS', KEYS[i]) == 0 then
          redis.call('SREM', KEYS[i + 1], token)
          redis.call('ZREM', KEYS[i + 2], token)
        end
      end
      return removed
      """)

  /// KEYS: the record of an instance. ARGV: token, the latest registration that is stale (unix ms).
  /// Returns 1 when it was marked inactive.
  static let deactivate = RedisScript(
    read + """
      local value = read(KEYS[1])
      if not value or value.token ~= ARGV[1] or value.active == false then return 0 end
      if (tonumber(value.updatedAt) or 0) > tonumber(ARGV[2]) then return 0 end
      value.active = false
      redis.call('DEL', KEYS[1])
      redis.call('SET', KEYS[1], cjson.encode(value))
      return 1
      """)

  /// KEYS: metadata, the user's set, the audience's shard, the previous owner's set, the previous audience's shard, then
  /// for each device that may make room its metadata and its audience's shard.
  /// ARGV: token, user, platform, now, bundle id, environment, previous owner, previous bundle id, seconds to live, whether
  /// a bundle id that is known goes before the given one, the most devices of a user, whether it goes on when the previous
  /// owner or bundle id is not the one declared; then for each device that may make room its token, bundle id and metadata.
  /// A user that is empty changes nothing of a device that has an owner or another app.
  /// Returns {1, who lost it, metadata, an owner and a bundle id whose sets still hold the token, how many made room};
  /// {0, previous owner, previous bundle id} when those were not the ones declared; {2, how many have to make room} when
  /// none of the declared ones could.
  static let register = RedisScript(
    read + room + """
      local value = read(KEYS[1]) or {}
      local user, app = owner(value), text(value.bundleId)
      if ARGV[2] == '' and (user ~= '' or (app ~= '' and app ~= ARGV[5])) then
        return {1, '', redis.call('GET', KEYS[1]), '', '', 0}
      end
      if user == ARGV[2] then user = '' end
      local strayUser, strayApp = '', ''
      if user ~= ARGV[7] or (app ~= '' and app ~= ARGV[8]) then
        if ARGV[12] ~= '1' then return {0, user, app} end
        if user ~= ARGV[7] then strayUser = user end
        if app ~= '' and app ~= ARGV[8] then strayApp, app = app, ARGV[8] end
      end
      local bundle = (ARGV[5] == '' or (ARGV[10] == '1' and app ~= '')) and app or ARGV[5]
      local left = app ~= bundle and app or ''
      if strayApp == bundle then strayApp = '' end
      -- What would fail halfway fails before anything is written.
      local misfit = misfits({[2] = 'set', [3] = 'zset', [4] = 'set', [5] = 'zset'})
      if misfit then return misfit end
      local name, gone = ARGV[2], 0
      local excess = name == '' and 0 or surplus(KEYS[2], tonumber(ARGV[11]), ARGV[1])
      if excess > 0 then
        gone = evict(KEYS[2], name, excess, 6, 13)
        if gone == 0 then return {2, excess} end
      end
      if user ~= '' then redis.call('SREM', KEYS[4], ARGV[1]) end
      if left ~= '' then redis.call('ZREM', KEYS[5], ARGV[1]) end
      local environment = ARGV[6] ~= '' and ARGV[6] or text(value.environment)
      local record = {username = name, platform = ARGV[3], updatedAt = tonumber(ARGV[4])}
      record.createdAt = type(value.createdAt) == 'number' and value.createdAt or record.updatedAt
      if bundle ~= '' then record.bundleId = bundle end
      if environment ~= '' then record.environment = environment end
      local metadata = cjson.encode(record)
      redis.call('SET', KEYS[1], metadata, 'EX', ARGV[9])
      if name ~= '' then redis.call('SADD', KEYS[2], ARGV[1]) end
      if bundle ~= '' then redis.call('ZADD', bundle == ARGV[5] and KEYS[3] or KEYS[5], 0, ARGV[1]) end
      return {1, user, metadata, strayUser, strayApp, gone}
      """)

  /// KEYS: metadata, the user's set, the audience's shard. ARGV: token, user, bundle id.
  /// Returns {1, removed from the set, removed metadata}, or {0, bundle id} when that was not the one declared.
  static let unregister = RedisScript(
    read + """
      local value = read(KEYS[1])
      local isOwn = value and owner(value) == ARGV[2]
      if isOwn and text(value.bundleId) ~= ARGV[3] then return {0, text(value.bundleId)} end
      local entries = redis.call('SREM', KEYS[2], ARGV[1])
      local records = 0
      if isOwn then
        records = redis.call('DEL', KEYS[1])
        if ARGV[3] ~= '' then redis.call('ZREM', KEYS[3], ARGV[1]) end
      end
      return {1, entries, records}
      """)

  /// KEYS: the user's set, then for each token its metadata and the audience's shard. ARGV: user, then for each token itself
  /// and its bundle id. Returns {removed from the set, removed metadata, 1 when the set is gone, …}, then the number and the
  /// bundle id of each token that was left alone because that was not the one declared.
  static let unregisterAll = RedisScript(
    read + """
      local entries, records, left = 0, 0, {}
      for i = 1, (#KEYS - 1) / 2 do
        local token, app = ARGV[2 * i], ARGV[2 * i + 1]
        local value = read(KEYS[2 * i])
        local isOwn = value and owner(value) == ARGV[1]
        if isOwn and text(value.bundleId) ~= app then
          left[#left + 1] = i
          left[#left + 1] = text(value.bundleId)
        else
          entries = entries + redis.call('SREM', KEYS[1], token)
          if isOwn then
            records = records + redis.call('DEL', KEYS[2 * i])
            if app ~= '' then redis.call('ZREM', KEYS[2 * i + 1], token) end
          end
        end
      end
      local gone = entries > 0 and redis.call('EXISTS', KEYS[1]) == 0 and 1 or 0
      return {entries, records, gone, unpack(left)}
      """)
}

import Registry
import Redis

/// Each runs all or nothing: its first write is one that a full redis refuses, and later ones pass. All keys are declared.
enum BackupScripts {
  static let all = [restore, restoreInstances]

  /// KEYS for each device: metadata, the owner's set, the audience's shard, the previous owner's set, the previous
  /// audience's shard. ARGV: seconds to live, the most devices of a user, then for each: token, owner, bundle id, record, updated at (unix ms), previous
  /// owner, previous bundle id. Owners and bundle ids may be empty. Replies for each: 1 created, 2 replaced an older one,
  /// 0 what is there stays, -1 a key of another type, -2 the user has as many devices as allowed, or {previous owner, previous bundle id} when those were not the ones
  /// declared.
  static let restore = RedisScript(
    RegistryScripts.read + """
      local function restore(k, a)
        local token, user, app, record, at = ARGV[a], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3], tonumber(ARGV[a + 4])
        local value = read(KEYS[k])
        local owned, bundle = value and owner(value) or '', value and text(value.bundleId) or ''
        if value and (tonumber(value.updatedAt) or 0) >= at then return 0 end
        if user == '' and owned ~= '' then return 0 end
        if owned == user then owned = '' end
        if bundle == app then bundle = '' end
        if (owned ~= '' and owned ~= ARGV[a + 5]) or (bundle ~= '' and bundle ~= ARGV[a + 6]) then
          return {owned, bundle}
        end
        if user ~= '' and not fits(KEYS[k + 1], 'set') then return -1 end
        if app ~= '' and not fits(KEYS[k + 2], 'zset') then return -1 end
        if user ~= '' and redis.call('SCARD', KEYS[k + 1]) >= tonumber(ARGV[2])
          and redis.call('SISMEMBER', KEYS[k + 1], token) == 0 then return -2 end
        redis.call('SET', KEYS[k], record, 'EX', ARGV[1])
        if user ~= '' then redis.call('SADD', KEYS[k + 1], token) end
        if app ~= '' then redis.call('ZADD', KEYS[k + 2], 0, token) end
        if owned ~= '' then redis.pcall('SREM', KEYS[k + 3], token) end
        if bundle ~= '' then redis.pcall('ZREM', KEYS[k + 4], token) end
        return value and 2 or 1
      end

      local replies = {}
      for i = 0, #KEYS / 5 - 1 do replies[i + 1] = restore(i * 5 + 1, i * 7 + 3) end
      return replies
      """)

  /// KEYS: instances. ARGV for each: record, updated at (unix ms). Replies for each as ``restore``.
  static let restoreInstances = RedisScript(
    RegistryScripts.read + """
      local replies = {}
      for i, key in ipairs(KEYS) do
        local value = read(key)
        if value and (tonumber(value.updatedAt) or 0) >= tonumber(ARGV[i * 2]) then
          replies[i] = 0
        else
          redis.call('SET', key, ARGV[i * 2 - 1])
          replies[i] = value and 2 or 1
        end
      end
      return replies
      """)
}

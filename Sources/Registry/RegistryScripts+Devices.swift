import Redis

/// What docs/http/device-api.md asks for beside a registration.
extension RegistryScripts {
  /// KEYS: metadata of the current token, of the new one, the user's set, the shards of the app's audience for the current
  /// and the new token, the set of the new token's owner, the shard of its audience, then for each device that may make room
  /// its metadata and its audience's shard. ARGV: current token, new token, user, now, the app, the new token's owner and
  /// app, seconds to live, the most devices of a user, whether it goes on when the new token's owner or app is not the one
  /// declared; then for each device that may make room its token, bundle id and metadata. The two tokens may be the same.
  /// Returns {1, metadata, an owner and a bundle id whose sets still hold the new token}; {-1} when the user has no such
  /// device; {0, app, the new token's owner, its app} when those were not the ones declared; {2, how many have to make room}
  /// when none of the declared ones could.
  static let replace = RedisScript(
    read + room + """
      local value = read(KEYS[1])
      if not value or owner(value) ~= ARGV[3] then return {-1} end
      local taken = ARGV[1] ~= ARGV[2] and read(KEYS[2]) or {}
      local app, user, left = text(value.bundleId), owner(taken), text(taken.bundleId)
      local isKnown = user == ARGV[6] and left == ARGV[7]
      if app ~= ARGV[5] or (not isKnown and ARGV[10] ~= '1') then return {0, app, user, left} end
      local strayUser = user ~= ARGV[6] and user ~= ARGV[3] and user or ''
      local strayApp = left ~= ARGV[7] and left ~= app and left or ''
      local misfit = misfits({[3] = 'set', [4] = 'zset', [5] = 'zset', [6] = 'set', [7] = 'zset'})
      if misfit then return misfit end
      local excess = surplus(KEYS[3], tonumber(ARGV[9]), ARGV[2], ARGV[1])
      if excess > 0 and evict(KEYS[3], ARGV[3], excess, 8, 11) == 0 then return {2, excess} end
      redis.call('DEL', KEYS[1])
      redis.call('SREM', KEYS[3], ARGV[1])
      if app ~= '' then redis.call('ZREM', KEYS[4], ARGV[1]) end
      if user ~= '' then redis.call('SREM', KEYS[6], ARGV[2]) end
      if left ~= '' then redis.call('ZREM', KEYS[7], ARGV[2]) end
      local record = {username = ARGV[3], platform = text(value.platform), updatedAt = tonumber(ARGV[4])}
      if record.platform == '' then record.platform = 'ios' end
      local created = value.createdAt or value.updatedAt
      record.createdAt = type(created) == 'number' and created or record.updatedAt
      if app ~= '' then record.bundleId = app end
      if text(value.environment) ~= '' then record.environment = value.environment end
      local metadata = cjson.encode(record)
      redis.call('SET', KEYS[2], metadata, 'EX', ARGV[8])
      redis.call('SADD', KEYS[3], ARGV[2])
      if app ~= '' then redis.call('ZADD', KEYS[5], 0, ARGV[2]) end
      return {1, metadata, strayUser, strayApp}
      """)

  /// KEYS: metadata, the owner's set, the audience's shard. ARGV: token, owner, bundle id, whether it goes on when those are
  /// not the ones declared. Returns {1, an owner and a bundle id whose sets still hold the token}, {-1} when nobody registered
  /// the token, or {0, owner, bundle id} when those were not the ones declared.
  static let forget = RedisScript(
    read + """
      local value = read(KEYS[1])
      if not value then return {-1} end
      local user, app = owner(value), text(value.bundleId)
      if (user ~= ARGV[2] or app ~= ARGV[3]) and ARGV[4] ~= '1' then return {0, user, app} end
      local misfit = misfits({[2] = 'set', [3] = 'zset'})
      if misfit then return misfit end
      redis.call('DEL', KEYS[1])
      if user ~= '' then redis.call('SREM', KEYS[2], ARGV[1]) end
      if app ~= '' then redis.call('ZREM', KEYS[3], ARGV[1]) end
      return {1, user ~= ARGV[2] and user or '', app ~= ARGV[3] and app or ''}
      """)
}

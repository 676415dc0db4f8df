import EventLoop
import Events
public import Redis

/// Some of a user's devices, in the order of their tokens.
public struct DevicePage: Sendable, Equatable {
  public let devices: [Device]
  /// Whether there are devices after the last.
  public let hasMore: Bool
  /// Entries that do not belong to the user, for ``Registry/clean(user:_:completion:)``.
  public let removals: [Removal]
}

/// Operations of docs/http/device-api.md. Usernames must be normalised.
extension Registry {
  /// Replaces the token of a user's device.
  ///
  /// The new token keeps the app, the environment and the time of the first registration, and is taken from another
  /// owner. `new` may equal `current`. Returns nil and changes nothing if the user has no device `current`.
  public func replace(
    token current: String, with new: String, of username: String, now: Int64
  ) async throws(RedisError) -> Device? {
    if let steps { return try await replace(token: current, with: new, of: username, now: now, steps) }
    // A new token usually has no owner and no app. The app of the current one is found by the first attempt.
    var known = (app: "", owner: "", left: "")
    var room = DeviceRoom()
    for attempt in 0..<Registry.maximumConflicts {
      let (shard, newShard) = (AudienceShard.shard(of: current), AudienceShard.shard(of: new))
      let keys = [
        RegistryKeys.token(current), RegistryKeys.token(new), RegistryKeys.userTokens(username),
        RegistryKeys.audience(known.app, shard: shard), RegistryKeys.audience(known.app, shard: newShard),
        RegistryKeys.userTokens(known.owner), RegistryKeys.audience(known.left, shard: newShard),
      ]
      let arguments = [
        current, new, username, String(now), known.app, known.owner, known.left, String(Registry.metadataLifetime),
        String(maximumDevices), attempt < Registry.politeAttempts ? "0" : "1",
      ]
      let reply =
        try await call(
          RegistryScripts.replace, keys: keys + room.keys,
          arguments: { command in
            for argument in arguments { command.append(argument) }
            room.append(to: &command, isLast: attempt == Registry.maximumConflicts - 1)
          }
        ).array ?? []
      switch reply.first?.integer {
      case 1:
        cleanStray(new, Registry.place(reply.dropFirst(2)))
        return Ownership.device(new, metadata: reply.dropFirst().first?.bytes)
      case 2:
        room = try await self.room(
          in: username, for: known.app, except: [current, new], size: reply.dropFirst().first?.count ?? 0)
      case -1: return nil
      default:
        guard reply.count == 4 else { continue }
        known = (reply[1].string ?? "", reply[2].string ?? "", reply[3].string ?? "")
      }
    }
    throw Registry.conflict
  }

  /// Removes a device from its owner and its app. Returns false if it is not registered.
  public func forget(token: String) async throws(RedisError) -> Bool {
    if let steps { return try await settle(token, .forget, steps).end == .written }
    var known: Place = ("", "")
    for attempt in 0..<Registry.maximumConflicts {
      let keys = [
        RegistryKeys.token(token), RegistryKeys.userTokens(known.owner),
        RegistryKeys.audience(known.app, shard: AudienceShard.shard(of: token)),
      ]
      let arguments = [token, known.owner, known.app, attempt < Registry.politeAttempts ? "0" : "1"]
      let reply = try await run(RegistryScripts.forget, keys: keys, arguments: arguments).array ?? []
      switch reply.first?.integer {
      case 1:
        cleanStray(token, Registry.place(reply.dropFirst()))
        return true
      case -1: return false
      default:
        known = Registry.place(reply.dropFirst())
      }
    }
    throw Registry.conflict
  }

  /// Returns up to `limit` of a user's devices after `token`, in the order of their tokens.
  ///
  /// Changes between two calls move no device to another page. At most ``maximumScanned`` entries of a set are read.
  public func devices(
    of username: String, after token: String?, limit: Int
  ) async throws(RedisError) -> DevicePage {
    let last = Array((token ?? "").utf8)
    let entries = try await entries(of: username).filter { last.isEmpty || last.lexicographicallyPrecedes($0) }
      .sorted { $0.lexicographicallyPrecedes($1) }
    var rest = entries[...]
    var found = Resolution()
    while found.devices.count <= limit, !rest.isEmpty {
      let batch = rest.prefix(Registry.maximumBatch)
      rest.removeFirst(batch.count)
      for (entry, stored) in zip(batch, try await stored(batch)) {
        found.apply(Ownership.decide(entry: entry, metadata: stored, owner: username))
      }
    }
    return DevicePage(
      devices: Array(found.devices.prefix(limit)), hasMore: found.devices.count > limit, removals: found.removals)
  }
}

extension RegistryScripts {
  /// KEYS
  ///   1  metadata of the current token
  ///   2  metadata of the new token
  ///   3  the user's set
  ///   4  the shard of the app's audience for the current token
  ///   5  the shard of the app's audience for the new token
  ///   6  the set of the new token's owner
  ///   7  the shard of the new token's audience
  ///   then for each device that may make room
  ///   1  its metadata
  ///   2  the shard of its audience
  /// ARGV
  ///   1  the current token
  ///   2  the new token; may be the same
  ///   3  the user
  ///   4  now (unix ms)
  ///   5  the expected app
  ///   6  the expected owner of the new token
  ///   7  the expected app of the new token
  ///   8  the lifetime of the metadata (seconds)
  ///   9  the maximum number of devices of a user in one app
  ///  10  1 to go on if owner or app of the new token are not the expected ones
  ///  11  how many entries the user's set had when it was read; empty: it was not, *: go on in any case
  ///  12  how many devices must make room, as was read
  ///   then for each device that may make room
  ///   1  its token
  ///   2  its bundle id
  ///   3  its metadata as it was read
  /// Returns
  ///   {1, metadata, an owner and a bundle id whose sets still contain the new token};
  ///   {-1} if the user has no such device;
  ///   {0, app, the new token's owner, its app} if these are not the expected ones;
  ///   {2, entries of the user's set} if the user's devices must be read first, or again.
  static let replace = EventfulScript(
    reading + room + """
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
      -- A device takes the place of the one that it replaces, if that is in the set.
      if redis.call('SISMEMBER', KEYS[3], ARGV[1]) == 0 then
        local excess, size = demand(KEYS[3], ARGV[2], ARGV[9], ARGV[11], ARGV[12])
        local gone = excess > 0 and evict(KEYS[3], ARGV[3], excess, 8, 13) or 0
        if gone == 0 and excess ~= 0 then return {2, size} end
      end
      redis.call('DEL', KEYS[1])
      redis.call('SREM', KEYS[3], ARGV[1])
      if app ~= '' then redis.call('ZREM', KEYS[4], ARGV[1]) end
      if user ~= '' then redis.call('SREM', KEYS[6], ARGV[2]) end
      if left ~= '' then redis.call('ZREM', KEYS[7], ARGV[2]) end
      local record = {username = ARGV[3], platform = text(value.platform), updatedAt = tonumber(ARGV[4])}
      if record.platform == '' then record.platform = 'ios' end
      record.createdAt = time(value.createdAt or value.updatedAt) or record.updatedAt
      if app ~= '' then record.bundleId = app end
      if text(value.environment) ~= '' then record.environment = value.environment end
      local metadata = cjson.encode(record)
      redis.call('SET', KEYS[2], metadata, 'EX', ARGV[8])
      redis.call('SADD', KEYS[3], ARGV[2])
      if app ~= '' then redis.call('ZADD', KEYS[5], 0, ARGV[2]) end
      if ARGV[1] == ARGV[2] then
        announce(ARGV[1], value, record)
      else
        announceRemoval(ARGV[1], value, '\(RemovalCause.replaced)')
        announce(ARGV[2], user ~= '' and taken or nil, record)
      end
      return {1, metadata, strayUser, strayApp}
      """)

  /// KEYS
  ///   1  metadata of the token
  ///   2  the owner's set
  ///   3  the shard of the audience
  /// ARGV
  ///   1  the token
  ///   2  the expected owner
  ///   3  the expected bundle id
  ///   4  1 to go on if these are not the expected ones
  /// Returns
  ///   {1, an owner and a bundle id whose sets still contain the token};
  ///   {-1} if the token is not registered;
  ///   {0, owner, bundle id} if these are not the expected ones.
  static let forget = EventfulScript(
    reading + """
      local value = read(KEYS[1])
      if not value then return {-1} end
      local user, app = owner(value), text(value.bundleId)
      if (user ~= ARGV[2] or app ~= ARGV[3]) and ARGV[4] ~= '1' then return {0, user, app} end
      local misfit = misfits({[2] = 'set', [3] = 'zset'})
      if misfit then return misfit end
      redis.call('DEL', KEYS[1])
      if user ~= '' then redis.call('SREM', KEYS[2], ARGV[1]) end
      if app ~= '' then redis.call('ZREM', KEYS[3], ARGV[1]) end
      announceRemoval(ARGV[1], value, '\(RemovalCause.unregistered)')
      return {1, user ~= ARGV[2] and user or '', app ~= ARGV[3] and app or ''}
      """)
}

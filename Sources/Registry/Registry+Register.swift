import EventLoop
import Events
import PushModel
public import Redis
import Telemetry

extension Registry {
  nonisolated static let conflict = RedisError.notSent(
    "the token is being registered by others at the same time; try again")

  /// Registers a device for a user, and takes it from another owner. Returns that owner.
  @discardableResult
  public func register(_ registration: Registration) async throws(RedisError) -> String? {
    try await enroll(registration).previousOwner
  }

  /// Registers a device as ``register(_:)`` does, and returns what is known about it.
  public func enroll(_ registration: Registration) async throws(RedisError) -> Enrollment {
    if let steps { return try await enroll(registration, steps) }
    // The script needs the keys of the previous owner and app. Most devices have neither, so the first attempt
    // expects neither.
    var previous: Place = ("", registration.bundleID ?? "")
    var room = DeviceRoom()
    for attempt in 0..<Registry.maximumConflicts {
      let reply = try await call(registration, previous, room, attempt)
      switch reply.first?.integer {
      case 1: return enrolled(registration, reply)
      case 2:
        room = try await self.room(
          in: registration.username, for: reply.last?.string ?? "", except: [registration.token],
          size: reply.dropFirst().first?.count ?? 0)
      default: previous = Registry.place(reply.dropFirst())
      }
    }
    log.warn("registration failed", ["token": .string(Log.shortened(registration.token)), "reason": "conflict"])
    throw Registry.conflict
  }

  /// An owner and an app; empty if there is no owner or no app.
  package typealias Place = (owner: String, app: String)

  package static func place(_ reply: ArraySlice<RedisValue>) -> Place {
    (reply.first?.string ?? "", reply.dropFirst().first?.string ?? "")
  }

  private func call(
    _ registration: Registration, _ previous: Place, _ room: DeviceRoom, _ attempt: Int
  ) async throws(RedisError) -> [RedisValue] {
    try await call(
      RegistryScripts.register,
      keys: keys(of: registration, previous.owner, previous.app) + room.keys,
      arguments: { [maximumDevices] command in
        command.append(registration.token)
        command.append(registration.username)
        command.append(registration.platform.rawValue)
        command.append(registration.now)
        command.append(registration.bundleID ?? "")
        command.append(registration.environment?.rawValue ?? "")
        command.append(previous.owner)
        command.append(previous.app)
        command.append(Registry.metadataLifetime)
        command.append(registration.isBundleAssumed ? 1 : 0)
        command.append(maximumDevices)
        command.append(attempt >= Registry.politeAttempts ? 1 : 0)
        room.append(to: &command, isLast: attempt == Registry.maximumConflicts - 1)
      }
    ).array ?? []
  }

  private func enrolled(_ registration: Registration, _ reply: [RedisValue]) -> Enrollment {
    cleanStray(registration.token, Registry.place(reply.dropFirst(3)))
    let gone = reply.dropFirst(5).first?.integer ?? 0
    if gone > 0 {
      log.info(
        "a user has the maximum number of devices of an app; those registered longest ago were removed",
        ["username": .init(registration.username), "removed": .init(gone)])
    }
    let owner = reply.dropFirst().first?.string ?? ""
    return Enrollment(
      device: Ownership.device(registration.token, metadata: reply.dropFirst(2).first?.bytes),
      previousOwner: owner.isEmpty ? nil : owner)
  }

  /// Removes a token from the sets of an owner and an app that it does not belong to any more. If that fails, the next
  /// resolution of these sets removes it.
  func cleanStray(_ token: String, _ place: Place) {
    let entry = Array(token.utf8)
    if !place.owner.isEmpty { clean(user: place.owner, [Removal(entry: entry, reason: .otherOwner)]) { _ in } }
    if !place.app.isEmpty { clean(app: place.app, [Removal(entry: entry, reason: .otherApp)]) { _ in } }
  }

  /// Replaces the device of an instance.
  public func register(instance id: String, _ record: InstanceRecord) async throws(RedisError) {
    guard let events else {
      _ = try await connection.send(RedisCommand("SET", RegistryKeys.instance(id)).with(record.json()))
      return
    }
    let arguments = [String(decoding: record.json(), as: UTF8.self), id]
    let former = try await run(
      RegistryScripts.registerInstance, keys: [RegistryKeys.instance(id)], arguments: arguments)
    // On one server the script has made the events.
    guard isStepwise else { return }
    let before = former.bytes.flatMap(InstanceRecord.init(parsing:))
    events.append(record.events(ofInstance: id, from: before, at: Clock.unixMilliseconds))
  }

  private func keys(of registration: Registration, _ previousOwner: String, _ previousApp: String) -> [String] {
    let shard = AudienceShard.shard(of: registration.token)
    return [
      RegistryKeys.token(registration.token), RegistryKeys.userTokens(registration.username),
      RegistryKeys.audience(registration.bundleID ?? "", shard: shard), RegistryKeys.userTokens(previousOwner),
      RegistryKeys.audience(previousApp, shard: shard),
    ]
  }
}

extension RegistryScripts {
  /// KEYS
  ///   1  metadata of the token
  ///   2  the user's set
  ///   3  the shard of the audience
  ///   4  the previous owner's set
  ///   5  the shard of the previous audience
  ///   then for each device that may make room
  ///   1  its metadata
  ///   2  the shard of its audience
  /// ARGV
  ///   1  the token
  ///   2  the user; empty for an anonymous device, which changes nothing if the device has an owner or another app
  ///   3  the platform
  ///   4  now (unix ms)
  ///   5  the bundle id
  ///   6  the environment
  ///   7  the expected previous owner
  ///   8  the expected previous bundle id
  ///   9  the lifetime of the metadata (seconds)
  ///  10  1 if a known bundle id has precedence over the given one
  ///  11  the maximum number of devices of a user in one app
  ///  12  1 to go on if the previous owner or bundle id is not the expected one
  ///  13  how many entries the user's set had when it was read; empty: it was not, *: go on in any case
  ///  14  how many devices must make room, as was read
  ///   then for each device that may make room
  ///   1  its token
  ///   2  its bundle id
  ///   3  its metadata as it was read
  /// Returns
  ///   {1, the user who lost the device, metadata, an owner and a bundle id whose sets still contain the token, how
  ///   many
  ///   devices made room};
  ///   {0, previous owner, previous bundle id} if these are not the expected ones;
  ///   {2, entries of the user's set, bundle id} if the user's devices must be read first, or again.
  static let register = EventfulScript(
    reading + room + """
      local stored = read(KEYS[1])
      local value = stored or {}
      local user, app = owner(value), text(value.bundleId)
      local held, holder = app, user
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
      -- A device that the user has in this app already needs no room.
      if name ~= '' and not (stored and holder == name and held == bundle) then
        local excess, size = demand(KEYS[2], ARGV[1], ARGV[11], ARGV[13], ARGV[14])
        if excess > 0 then gone = evict(KEYS[2], name, excess, 6, 15) end
        if gone == 0 and excess ~= 0 then return {2, size, bundle} end
      end
      if user ~= '' then redis.call('SREM', KEYS[4], ARGV[1]) end
      if left ~= '' then redis.call('ZREM', KEYS[5], ARGV[1]) end
      local environment = ARGV[6] ~= '' and ARGV[6] or text(value.environment)
      local record = {username = name, platform = ARGV[3], updatedAt = tonumber(ARGV[4])}
      record.createdAt = time(value.createdAt) or record.updatedAt
      if bundle ~= '' then record.bundleId = bundle end
      if environment ~= '' then record.environment = environment end
      local metadata = cjson.encode(record)
      redis.call('SET', KEYS[1], metadata, 'EX', ARGV[9])
      if name ~= '' then redis.call('SADD', KEYS[2], ARGV[1]) end
      if bundle ~= '' then redis.call('ZADD', bundle == ARGV[5] and KEYS[3] or KEYS[5], 0, ARGV[1]) end
      announce(ARGV[1], stored, record)
      return {1, user, metadata, strayUser, strayApp, gone}
      """)

  /// KEYS
  ///   1  the record of the instance
  /// ARGV
  ///   1  the new record, JSON
  ///   2  the id of the instance
  /// Returns the record before; empty if there was none.
  static let registerInstance = EventfulScript(
    reading + """
      local former = redis.pcall('GET', KEYS[1])
      local before, after = read(KEYS[1]), cjson.decode(ARGV[1])
      redis.call('SET', KEYS[1], ARGV[1])
      if emit then
        if before and before.active == false then before = nil end
        local same = before and before.token == after.token
        if before and not same then
          announceRemoval(text(before.token), before, '\(RemovalCause.replaced)', ARGV[2])
        end
        if not same or before.environment ~= after.environment or before.bundleId ~= after.bundleId then
          local data = facts(after.token, after)
          data.instance = ARGV[2]
          emit('token.registered', data)
        end
      end
      return type(former) == 'string' and former or ''
      """)
}

import EventLoop
import Events
public import Redis

/// A device whose token APNs refused as invalid.
public struct StaleDevice: Sendable, Equatable {
  public let token: String
  /// Owner and app as the resolution returned them; the owner of an anonymous device is empty.
  public let owner: String
  public let bundleID: String?
  /// Unix milliseconds. A later registration is kept. If APNs named no time, this is the time of the registration.
  public let notAfter: Int64
  /// APNs' reason, for the event.
  public let reason: String

  /// The reason of an answer without one.
  public static let unknownReason = "stale"

  public init(
    token: String, owner: String, bundleID: String?, notAfter: Int64, reason: String = StaleDevice.unknownReason
  ) {
    self.token = token
    self.owner = owner
    self.bundleID = bundleID
    self.notAfter = notAfter
    self.reason = reason
  }
}

extension Registry {
  public typealias CountCompletion = @EventLoop (Result<Int, RedisError>) -> Void

  /// Removes entries from a user's set, each only if its metadata is still missing or another user's. Passes their
  /// number.
  public func clean(user: String, _ removals: [Removal], completion: @escaping CountCompletion) {
    if let steps {
      return complete(
        completion, with: { () async throws(RedisError) in try await self.clean(.user(user), removals, steps) })
    }
    let set = RegistryKeys.userTokens(user)
    clean(
      { [self] in call(RegistryScripts.cleanUser, keys: $0, arguments: $1, $2) }, groups: [(set, removals)],
      expected: user, completion: completion)
  }

  /// Removes entries as ``clean(user:_:completion:)`` does, and returns their number.
  public func clean(user: String, _ removals: [Removal]) async throws(RedisError) -> Int {
    let result = await withCheckedContinuation { continuation in
      clean(user: user, removals) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// Removes entries from an app's audience, each only if its metadata is still missing or another app's.
  public func clean(app: String, _ removals: [Removal], completion: @escaping CountCompletion) {
    if let steps {
      return complete(
        completion, with: { () async throws(RedisError) in try await self.clean(.audience(app), removals, steps) })
    }
    let shards = Dictionary(grouping: removals) { AudienceShard.shard(of: $0.entry) }
    let groups = shards.map { (RegistryKeys.audience(app, shard: $0.key), $0.value) }
    clean(
      { [self] in connection.call(RegistryScripts.cleanAudience, keys: $0, arguments: $1, $2) }, groups: groups,
      expected: app, completion: completion)
  }

  /// Removes devices, each only if it has the same owner and was not registered after `notAfter`. Passes their number.
  public func removeStale(_ devices: [StaleDevice], completion: @escaping CountCompletion) {
    if let steps {
      return complete(completion, with: { () async throws(RedisError) in try await self.removeStale(devices, steps) })
    }
    let sum = CountExchange(completion: completion)
    for start in stride(from: 0, to: devices.count, by: Registry.maximumBatch) {
      let batch = devices[start..<min(start + Registry.maximumBatch, devices.count)]
      let keys = batch.flatMap { device in
        let shard = AudienceShard.shard(of: device.token)
        return [
          RegistryKeys.token(device.token), RegistryKeys.userTokens(device.owner),
          RegistryKeys.audience(device.bundleID ?? "", shard: shard),
        ]
      }
      sum.expect()
      call(
        RegistryScripts.removeStale, keys: keys,
        arguments: { command in
          for device in batch {
            command.append(device.token)
            command.append(device.owner)
            command.append(device.notAfter)
            command.append(device.reason)
          }
        }, sum.answer)
    }
    sum.close()
  }

  /// Marks the record of an instance inactive if it still has this token and was not registered after `notAfter` (unix
  /// ms). Passes the number of records marked: 0 or 1.
  public func deactivate(
    instance id: String, token: String, notAfter: Int64, reason: String = StaleDevice.unknownReason,
    completion: @escaping CountCompletion
  ) {
    call(
      RegistryScripts.deactivate, keys: [RegistryKeys.instance(id)],
      arguments: { command in
        for argument in [token, String(notAfter), reason, id] { command.append(argument) }
      }
    ) { [self] result in
      // On one server the script has made the event.
      if isStepwise, case .success(.integer(1)) = result {
        let device = EventDevice(token: token, instance: id)
        events?.append([.removed(device, reason: reason, at: Clock.unixMilliseconds)])
      }
      completion(result.map { $0.count ?? 0 })
    }
  }

  private func complete(
    _ completion: @escaping CountCompletion, with body: @escaping @EventLoop () async throws(RedisError) -> Int
  ) {
    Task { @EventLoop in
      do throws(RedisError) {
        completion(.success(try await body()))
      } catch {
        completion(.failure(error))
      }
    }
  }

  /// Calls a script that removes entries from a set.
  private typealias CleanCall =
    @EventLoop (
      _ keys: [String], _ arguments: @escaping (inout RedisCommand) -> Void,
      _ completion: @escaping RedisClient.Completion
    ) -> Void

  private func clean(
    _ script: @escaping CleanCall, groups: [(key: String, removals: [Removal])], expected: String,
    completion: @escaping CountCompletion
  ) {
    var batches: [(key: String, removals: ArraySlice<Removal>)] = []
    for (key, removals) in groups {
      for start in stride(from: 0, to: removals.count, by: Registry.maximumBatch) {
        batches.append((key, removals[start..<min(start + Registry.maximumBatch, removals.count)]))
      }
    }
    clean(script, batches[...], expected: expected, removed: 0, completion)
  }

  /// Sends one batch after the other, because many at once would delay other commands.
  private func clean(
    _ script: @escaping CleanCall, _ batches: ArraySlice<(key: String, removals: ArraySlice<Removal>)>,
    expected: String,
    removed: Int, _ completion: @escaping CountCompletion
  ) {
    guard let (key, removals) = batches.first else { return completion(.success(removed)) }
    let checked = removals.filter { $0.reason != .malformedToken }
    let unchecked = removals.filter { $0.reason == .malformedToken }
    let keys = checked.map { RegistryKeys.token(String(decoding: $0.entry, as: UTF8.self)) }
    script(
      [key] + keys,
      { command in
        command.append(expected)
        for removal in checked + unchecked { command.append(removal.entry) }
      }
    ) { [self] result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let value):
        let removed = removed + (value.count ?? 0)
        clean(script, batches.dropFirst(), expected: expected, removed: removed, completion)
      }
    }
  }
}

extension RegistryScripts {
  /// KEYS
  ///   1  the user's set
  ///   2… the metadata of the first entries
  /// ARGV
  ///   1  the owner
  ///   2… the entries; those without a key are removed with any metadata
  /// Returns how many entries were removed.
  static let cleanUser = EventfulScript(
    reading + """
      local removed = 0
      for i = 2, #ARGV do
        local value = KEYS[i] and read(KEYS[i])
        if not value or owner(value) ~= ARGV[1] then
          local count = redis.call('SREM', KEYS[1], ARGV[i])
          removed = removed + count
          if count == 1 and KEYS[i] then
            local reason = value and '\(RemovalCause.mismatch)' or '\(RemovalCause.expired)'
            announceRemoval(ARGV[i], {username = ARGV[1]}, reason)
          end
        end
      end
      return removed
      """)

  /// KEYS
  ///   1  a shard of the audience
  ///   2… the metadata of the first entries
  /// ARGV
  ///   1  the bundle id
  ///   2… the entries; those without a key are removed with any metadata
  /// Returns how many entries were removed.
  static let cleanAudience = RedisScript(
    read + """
      local removed = 0
      for i = 2, #ARGV do
        local value = KEYS[i] and read(KEYS[i])
        if not value or text(value.bundleId) ~= ARGV[1] then removed = removed + redis.call('ZREM', KEYS[1], ARGV[i]) end
      end
      return removed
      """)

  /// KEYS, for each device
  ///   1  its metadata
  ///   2  the owner's set
  ///   3  the shard of the audience
  /// ARGV, for each device
  ///   1  the token
  ///   2  the owner
  ///   3  the time of the latest registration that is stale (unix ms)
  ///   4  the reason
  /// Returns how many devices were removed.
  static let removeStale = EventfulScript(
    reading + """
      local removed = 0
      for i = 1, #KEYS, 3 do
        local a = (i - 1) / 3 * 4 + 1
        local token, user, latest = ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2])
        local value = read(KEYS[i])
        local isStale = value and owner(value) == user and (tonumber(value.updatedAt) or 0) <= latest
        if isStale then removed = removed + redis.call('DEL', KEYS[i]) end
        if isStale or redis.call('EXISTS', KEYS[i]) == 0 then
          redis.call('SREM', KEYS[i + 1], token)
          redis.call('ZREM', KEYS[i + 2], token)
          if isStale then announceRemoval(token, value, ARGV[a + 3]) end
        end
      end
      return removed
      """)

  /// KEYS
  ///   1  the record of the instance
  /// ARGV
  ///   1  the token
  ///   2  the time of the latest registration that is stale (unix ms)
  ///   3  the reason
  ///   4  the id of the instance
  /// Returns 1 if the record was marked inactive, else 0. PERSIST changes nothing; as the first write it makes a full
  /// Redis accept the next one. A script may not access a key that it deleted while a cluster moves its slot.
  static let deactivate = EventfulScript(
    reading + """
      local value = read(KEYS[1])
      if not value or value.token ~= ARGV[1] or value.active == false then return 0 end
      if (tonumber(value.updatedAt) or 0) > tonumber(ARGV[2]) then return 0 end
      local record = {token = value.token, active = false, updatedAt = time(value.updatedAt) or 0}
      for _, name in ipairs({'environment', 'bundleId'}) do
        if text(value[name]) ~= '' then record[name] = value[name] end
      end
      redis.call('PERSIST', KEYS[1])
      redis.call('SET', KEYS[1], cjson.encode(record))
      announceRemoval(ARGV[1], value, ARGV[3], ARGV[4])
      return 1
      """)
}

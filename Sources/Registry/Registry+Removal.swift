import EventLoop
public import Redis

/// A device whose token APNs refused as invalid.
public struct StaleDevice: Sendable, Equatable {
  public let token: String
  /// Owner and app as the resolution returned them; the owner of an anonymous device is empty.
  public let owner: String
  public let bundleID: String?
  /// Unix milliseconds. A later registration is kept. If APNs named no time, this is the time of the registration.
  public let notAfter: Int64

  public init(token: String, owner: String, bundleID: String?, notAfter: Int64) {
    self.token = token
    self.owner = owner
    self.bundleID = bundleID
    self.notAfter = notAfter
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
    clean(RegistryScripts.cleanUser, groups: [(set, removals)], expected: user, completion: completion)
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
    clean(RegistryScripts.cleanAudience, groups: groups, expected: app, completion: completion)
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
      connection.call(
        RegistryScripts.removeStale, keys: keys,
        arguments: { command in
          for device in batch {
            command.append(device.token)
            command.append(device.owner)
            command.append(device.notAfter)
          }
        }, sum.answer)
    }
    sum.close()
  }

  /// Marks the record of an instance inactive if it still has this token and was not registered after `notAfter` (unix
  /// ms). Passes the number of records marked: 0 or 1.
  public func deactivate(
    instance id: String, token: String, notAfter: Int64, completion: @escaping CountCompletion
  ) {
    let sum = CountExchange(completion: completion)
    sum.expect()
    connection.run(
      RegistryScripts.deactivate, keys: [RegistryKeys.instance(id)], arguments: [token, String(notAfter)], sum.answer)
    sum.close()
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

  private func clean(
    _ script: RedisScript, groups: [(key: String, removals: [Removal])], expected: String,
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
    _ script: RedisScript, _ batches: ArraySlice<(key: String, removals: ArraySlice<Removal>)>, expected: String,
    removed: Int, _ completion: @escaping CountCompletion
  ) {
    guard let (key, removals) = batches.first else { return completion(.success(removed)) }
    let checked = removals.filter { $0.reason != .malformedToken }
    let unchecked = removals.filter { $0.reason == .malformedToken }
    let keys = checked.map { RegistryKeys.token(String(decoding: $0.entry, as: UTF8.self)) }
    connection.call(
      script, keys: [key] + keys,
      arguments: { command in
        command.append(expected)
        for removal in checked + unchecked { command.append(removal.entry) }
      }
    ) { [self] result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let value):
        let removed = removed + Int(value.integer ?? 0)
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
  ///   2… the entries; those without a key are removed whatever their metadata is
  /// Returns how many entries were removed.
  static let cleanUser = RedisScript(
    read + """
      local removed = 0
      for i = 2, #ARGV do
        local value = KEYS[i] and read(KEYS[i])
        if not value or owner(value) ~= ARGV[1] then removed = removed + redis.call('SREM', KEYS[1], ARGV[i]) end
      end
      return removed
      """)

  /// KEYS
  ///   1  a shard of the audience
  ///   2… the metadata of the first entries
  /// ARGV
  ///   1  the bundle id
  ///   2… the entries; those without a key are removed whatever their metadata is
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
  /// Returns how many devices were removed.
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

  /// KEYS
  ///   1  the record of the instance
  /// ARGV
  ///   1  the token
  ///   2  the time of the latest registration that is stale (unix ms)
  /// Returns 1 if the record was marked inactive, else 0. PERSIST changes nothing; as the first write it makes a full
  /// Redis accept the next one. A script may not access a key that it deleted while a cluster moves its slot.
  static let deactivate = RedisScript(
    read + """
      local value = read(KEYS[1])
      if not value or value.token ~= ARGV[1] or value.active == false then return 0 end
      if (tonumber(value.updatedAt) or 0) > tonumber(ARGV[2]) then return 0 end
      value.active = false
      redis.call('PERSIST', KEYS[1])
      redis.call('SET', KEYS[1], cjson.encode(value))
      return 1
      """)
}

import EventLoop
public import Redis

extension Registry {
  public typealias CountCompletion = @EventLoop (Result<Int, RedisError>) -> Void

  /// Takes entries out of a user's set, each only if its metadata still is missing or another's. Tells how many.
  public func clean(user: String, _ removals: [Removal], completion: @escaping CountCompletion) {
    let set = RegistryKeys.userTokens(user)
    clean(RegistryScripts.cleanUser, groups: [(set, removals)], expected: user, completion: completion)
  }

  /// ``clean(user:_:completion:)`` that waits for the answer.
  public func clean(user: String, _ removals: [Removal]) async throws(RedisError) -> Int {
    let result = await withCheckedContinuation { continuation in
      clean(user: user, removals) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// The same for an app's audience.
  public func clean(app: String, _ removals: [Removal], completion: @escaping CountCompletion) {
    let shards = Dictionary(grouping: removals) { AudienceShard.shard(of: $0.entry) }
    let groups = shards.map { (RegistryKeys.audience(app, shard: $0.key), $0.value) }
    clean(RegistryScripts.cleanAudience, groups: groups, expected: app, completion: completion)
  }

  /// Removes devices, each only if the same owner still has it and did not register it after `notAfter`. Tells how
  /// many were removed.
  public func removeStale(_ devices: [StaleDevice], completion: @escaping CountCompletion) {
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

  /// Marks the record of an instance inactive, until its device registers again: only if it still has this token, and did
  /// not register it after `notAfter` (unix ms). Tells how many were marked.
  public func deactivate(
    instance id: String, token: String, notAfter: Int64, completion: @escaping CountCompletion
  ) {
    let sum = CountExchange(completion: completion)
    sum.expect()
    connection.run(
      RegistryScripts.deactivate, keys: [RegistryKeys.instance(id)], arguments: [token, String(notAfter)], sum.answer)
    sum.close()
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

  /// One after the other: many at once would hold up what comes behind them.
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

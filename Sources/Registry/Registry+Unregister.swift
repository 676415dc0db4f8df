import EventLoop
public import Redis

extension Registry {
  /// A token and the app whose audience it is believed to be in; empty when in none.
  private typealias Candidate = (token: [UInt8], app: String)

  /// Takes all devices from a user that are in the set now; other owners' metadata stays. Each goes in one atomic step,
  /// hundreds of them at a time.
  public func unregisterAll(username: String) async throws(RedisError) -> BulkUnregistration {
    var command = RedisCommand("SORT", RegistryKeys.userTokens(username))
    for word in Registry.withMetadata { command.append(word) }
    let values = try await connection.send(command).array ?? []
    var candidates: [Candidate] = []
    var malformed: [Removal] = []
    for pair in stride(from: 0, to: values.count - 1, by: 2) {
      guard let entry = values[pair].bytes else { continue }
      guard DeviceToken.isWellFormed(entry) else {
        malformed.append(Removal(entry: entry, reason: .malformedToken))
        continue
      }
      candidates.append((entry, values[pair + 1].bytes.flatMap(DeviceMetadata.init(parsing:))?.bundleID ?? ""))
    }
    var result = BulkUnregistration()
    if !malformed.isEmpty { result.malformedEntries = try await clean(user: username, malformed) }
    result.hasLookedUp = !candidates.isEmpty
    for start in stride(from: 0, to: candidates.count, by: Registry.maximumBatch) {
      let batch = Array(candidates[start..<min(start + Registry.maximumBatch, candidates.count)])
      try await unregister(batch, from: username, &result)
    }
    return result
  }

  private func unregister(
    _ batch: [Candidate], from username: String, _ result: inout BulkUnregistration
  ) async throws(RedisError) {
    var left = batch
    for _ in 0..<Registry.maximumConflicts {
      let keys = left.flatMap { candidate in
        [
          RegistryKeys.token(String(decoding: candidate.token, as: UTF8.self)),
          RegistryKeys.audience(candidate.app, shard: AudienceShard.shard(of: candidate.token)),
        ]
      }
      let reply =
        try await connection.call(
          RegistryScripts.unregisterAll, keys: [RegistryKeys.userTokens(username)] + keys,
          arguments: { command in
            command.append(username)
            for candidate in left {
              command.append(candidate.token)
              command.append(candidate.app)
            }
          }
        ).array ?? []
      let counts = reply.prefix(3).map { Int($0.integer ?? 0) }
      guard counts.count == 3 else { return }
      result.entries += counts[0]
      result.metadata += counts[1]
      if counts[0] > 0 { result.isSetGone = counts[2] == 1 }
      // Those that have moved to another app since, each with the app that the script found.
      left = stride(from: 3, to: reply.count - 1, by: 2).map { index in
        (left[Int(reply[index].integer ?? 1) - 1].token, reply[index + 1].string ?? "")
      }
      if left.isEmpty { return }
    }
    throw Registry.conflict
  }
}

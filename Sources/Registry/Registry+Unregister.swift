import PushModel
import EventLoop
public import Redis

extension Registry {
  /// A token and the app whose audience it is believed to be in; empty when in none.
  private typealias Candidate = (token: [UInt8], app: String)

  /// Takes all devices from a user that are in the set now; other owners' metadata stays. Each goes in one atomic step,
  /// hundreds of them at a time; others are served in between.
  public func unregisterAll(username: String) async throws(RedisError) -> BulkUnregistration {
    var result = BulkUnregistration()
    var cursor: String? = "0"
    var pages = 0
    while let from = cursor {
      let page = try await scan(username, from: from)
      try await unregister(page.entries, from: username, &result)
      cursor = page.next
      pages += 1
    }
    if pages > 1, result.entries > 0 {
      let key = RegistryKeys.userTokens(username)
      result.isSetGone = try await connection.send(RedisCommand("EXISTS", key)).integer == 0
    }
    return result
  }

  /// Takes these entries from a user.
  private func unregister(
    _ entries: [[UInt8]], from username: String, _ result: inout BulkUnregistration
  ) async throws(RedisError) {
    var candidates: [Candidate] = []
    var malformed: [Removal] = []
    for (entry, stored) in zip(entries, try await stored(entries)) {
      guard DeviceToken.isWellFormed(entry) else {
        malformed.append(Removal(entry: entry, reason: .malformedToken))
        continue
      }
      candidates.append((entry, stored.flatMap(DeviceMetadata.init(parsing:))?.bundleID ?? ""))
    }
    if !malformed.isEmpty { result.malformedEntries += try await clean(user: username, malformed) }
    result.hasLookedUp = result.hasLookedUp || !candidates.isEmpty
    for start in stride(from: 0, to: candidates.count, by: Registry.maximumBatch) {
      let batch = Array(candidates[start..<min(start + Registry.maximumBatch, candidates.count)])
      try await unregister(batch, from: username, &result)
    }
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

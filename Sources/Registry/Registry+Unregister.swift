import PushModel
import EventLoop
import Events
public import Redis

/// What unregistering one device removed.
public struct Unregistration: Sendable, Equatable {
  /// Whether the token was in the user's set.
  public let removedEntry: Bool
  /// Whether the metadata named the user.
  public let removedMetadata: Bool
}

/// What unregistering all devices of a user removed.
public struct BulkUnregistration: Sendable, Equatable {
  /// Well-formed tokens removed from the user's set.
  public var entries = 0
  /// Metadata removed that named the user.
  public var metadata = 0
  /// Entries removed from the set that were not well-formed tokens.
  public var malformedEntries = 0
  /// Whether there were well-formed tokens, whose metadata was read.
  public var hasLookedUp = false
  /// Whether the set became empty.
  public var isSetGone = false

  public init(entries: Int = 0, metadata: Int = 0) {
    self.entries = entries
    self.metadata = metadata
  }
}

extension Registry {
  /// Removes a device from a user. The metadata of another owner is kept.
  public func unregister(token: String, username: String) async throws(RedisError) -> Unregistration {
    if let steps { return try await unregister(token: token, username: username, steps) }
    var app = ""
    for _ in 0..<Registry.maximumConflicts {
      let shard = AudienceShard.shard(of: token)
      let keys = [
        RegistryKeys.token(token), RegistryKeys.userTokens(username), RegistryKeys.audience(app, shard: shard),
      ]
      let reply =
        try await run(
          RegistryScripts.unregister, keys: keys, arguments: [token, username, app]
        ).array ?? []
      if reply.count == 3, reply[0].integer == 1 {
        return Unregistration(removedEntry: reply[1].integer == 1, removedMetadata: reply[2].integer == 1)
      }
      app = reply.dropFirst().first?.string ?? ""
    }
    throw Registry.conflict
  }

  /// A token and the app whose audience is expected to contain it; empty if no app's is.
  private typealias Candidate = (token: [UInt8], app: String)

  /// Removes all devices from a user. The metadata of other owners is kept.
  ///
  /// Works in batches, so that Redis serves others in between.
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

  /// Removes these entries from a user.
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
    if let steps { return try await unregister(candidates.map(\.token), from: username, steps, &result) }
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
        try await call(
          RegistryScripts.unregisterAll, keys: [RegistryKeys.userTokens(username)] + keys,
          arguments: { command in
            command.append(username)
            for candidate in left {
              command.append(candidate.token)
              command.append(candidate.app)
            }
          }
        ).array ?? []
      let counts = reply.prefix(3).map { $0.count ?? 0 }
      guard counts.count == 3 else { return }
      result.entries += counts[0]
      result.metadata += counts[1]
      if counts[0] > 0 { result.isSetGone = counts[2] == 1 }
      // Tokens that have moved to another app, each with the app that the script found.
      left = stride(from: 3, to: reply.count - 1, by: 2).map { index in
        (left[Int(reply[index].integer ?? 1) - 1].token, reply[index + 1].string ?? "")
      }
      if left.isEmpty { return }
    }
    throw Registry.conflict
  }
}

extension RegistryScripts {
  /// KEYS
  ///   1  metadata of the token
  ///   2  the user's set
  ///   3  the shard of the audience
  /// ARGV
  ///   1  the token
  ///   2  the user
  ///   3  the expected bundle id
  /// Returns {1, entries removed from the set, metadata removed}, or {0, bundle id} if that is not the expected one.
  static let unregister = EventfulScript(
    reading + """
      local value = read(KEYS[1])
      local isOwn = value and owner(value) == ARGV[2]
      if isOwn and text(value.bundleId) ~= ARGV[3] then return {0, text(value.bundleId)} end
      local entries = redis.call('SREM', KEYS[2], ARGV[1])
      local records = 0
      if isOwn then
        records = redis.call('DEL', KEYS[1])
        if ARGV[3] ~= '' then redis.call('ZREM', KEYS[3], ARGV[1]) end
        announceRemoval(ARGV[1], value, '\(RemovalCause.unregistered)')
      end
      return {1, entries, records}
      """)

  /// KEYS
  ///   1  the user's set
  ///   then for each token
  ///   1  its metadata
  ///   2  the shard of the audience
  /// ARGV
  ///   1  the user
  ///   then for each token
  ///   1  the token
  ///   2  its expected bundle id
  /// Returns {entries removed from the set, metadata removed, 1 if the set is gone, …}, followed by the number and the
  /// bundle id of each token that was skipped because that is not the expected one.
  static let unregisterAll = EventfulScript(
    reading + """
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
            announceRemoval(token, value, '\(RemovalCause.unregistered)')
          end
        end
      end
      local gone = entries > 0 and redis.call('EXISTS', KEYS[1]) == 0 and 1 or 0
      return {entries, records, gone, unpack(left)}
      """)
}

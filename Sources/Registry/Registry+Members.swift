import PushModel
import EventLoop
package import Redis

/// A user's set in parts, however large it is. For what is not on the way of a push.
extension Registry {
  /// Entries of one SCAN or SSCAN, about.
  package static let scanCount = 1000

  /// Entries that are looked at when some are to be chosen: ten times what a user may have. What is over the limit of a
  /// set that is larger leaves step by step.
  static let maximumScanned = 10_000

  /// Offered to make room beside those that have to: others may be at it at the same moment.
  private static let spareMembers = 16

  /// An entry of a user's set.
  package struct Member {
    let entry: [UInt8]
    /// What stands under its metadata's key, if it is a token.
    let stored: [UInt8]?
    /// Nil when the entry is not the user's.
    package let metadata: DeviceMetadata?

    init(_ entry: [UInt8], _ stored: [UInt8]?, of user: String) {
      self.entry = entry
      self.stored = DeviceToken.isWellFormed(entry) ? stored : nil
      let metadata = self.stored.flatMap(DeviceMetadata.init(parsing:))
      self.metadata = metadata?.username == user ? metadata : nil
    }

    /// Those that are not the user's first, then the one registered longest ago.
    package func leaves(before other: Member) -> Bool {
      let (own, others) = (metadata?.updatedAt ?? .min, other.metadata?.updatedAt ?? .min)
      return own == others ? entry.lexicographicallyPrecedes(other.entry) : own < others
    }
  }

  /// A part of a user's set, and where the next one begins; nil after the last. An entry may come twice.
  func scan(
    _ user: String, from cursor: String
  ) async throws(RedisError) -> (entries: [[UInt8]], next: String?) {
    let command = RedisCommand("SSCAN", RegistryKeys.userTokens(user), cursor, "COUNT").with(Registry.scanCount)
    let reply = try await connection.send(command).array ?? []
    guard reply.count == 2, let next = reply[0].string else { return ([], nil) }
    return ((reply[1].array ?? []).compactMap(\.bytes), next == "0" ? nil : next)
  }

  /// What stands under the metadata's keys of the entries.
  func stored(_ entries: some Collection<[UInt8]>) async throws(RedisError) -> [[UInt8]?] {
    guard !entries.isEmpty else { return [] }
    var command = RedisCommand("MGET")
    for entry in entries { command.append(RegistryKeys.token(entry)) }
    return (try await connection.send(command).array ?? []).map(\.bytes)
  }

  /// The entries of a user's set, of a large one the first ``maximumScanned``.
  func entries(of user: String) async throws(RedisError) -> Set<[UInt8]> {
    var entries: Set<[UInt8]> = []
    var cursor: String? = "0"
    while let from = cursor, entries.count < Registry.maximumScanned {
      let page = try await scan(user, from: from)
      entries.formUnion(page.entries)
      cursor = page.next
    }
    return entries
  }

  /// ``entries(of:)`` with what is known of them.
  package func members(of user: String) async throws(RedisError) -> [Member] {
    let entries = Array(try await entries(of: user))
    var members: [Member] = []
    for start in stride(from: 0, to: entries.count, by: Registry.scanCount) {
      let part = entries[start..<min(start + Registry.scanCount, entries.count)]
      for (entry, stored) in zip(part, try await stored(part)) { members.append(Member(entry, stored, of: user)) }
    }
    return members
  }

  /// Which devices of a user make room when `count` have to; those that leave first come first.
  func leaving(
    _ count: Int, of user: String, except tokens: [String]
  ) async throws(RedisError) -> [Member] {
    let kept = Set(tokens.map { Array($0.utf8) })
    let members = try await members(of: user).filter { !kept.contains($0.entry) }
    let wanted = min(max(count, 1) + Registry.spareMembers, Registry.maximumBatch)
    return Array(members.sorted { $0.leaves(before: $1) }.prefix(wanted))
  }

  /// Takes these from a user, each unless it has changed.
  package func evict(_ members: [Member], from user: String) async throws(RedisError) {
    for start in stride(from: 0, to: members.count, by: Registry.maximumBatch) {
      let batch = members[start..<min(start + Registry.maximumBatch, members.count)]
      _ = try await connection.call(
        RegistryScripts.evict, keys: [RegistryKeys.userTokens(user)] + batch.flatMap(\.keys),
        arguments: { command in
          command.append(user)
          command.append(batch.count)
          for member in batch { member.append(to: &command) }
        })
    }
  }
}

/// As the scripts are told of it.
extension Registry.Member {
  var keys: [String] {
    // No token has the key of an entry that is none.
    let token = DeviceToken.isWellFormed(entry) ? String(decoding: entry, as: UTF8.self) : ""
    return [
      RegistryKeys.token(token),
      RegistryKeys.audience(metadata?.bundleID ?? "", shard: AudienceShard.shard(of: entry)),
    ]
  }

  func append(to command: inout RedisCommand) {
    command.append(entry)
    command.append(metadata?.bundleID ?? "")
    command.append(stored ?? [])
  }
}

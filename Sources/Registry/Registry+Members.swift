import PushModel
import EventLoop
import Events
package import Redis

/// Reads a user's set of any size in parts. Not used to send a push.
extension Registry {
  /// Approximate number of entries of one SCAN or SSCAN.
  package static let scanCount = 1000

  /// Maximum entries that are read to choose some of them: ten times what a user may have. A larger set shrinks in
  /// several steps.
  static let maximumScanned = 10_000

  /// An entry of a user's set.
  package struct Member {
    let entry: [UInt8]
    /// The stored metadata if the entry is a token.
    let stored: [UInt8]?
    /// Nil if the entry does not belong to the user.
    package let metadata: DeviceMetadata?

    init(_ entry: [UInt8], _ stored: [UInt8]?, of user: String) {
      self.entry = entry
      self.stored = DeviceToken.isWellFormed(entry) ? stored : nil
      let metadata = self.stored.flatMap(DeviceMetadata.init(parsing:))
      self.metadata = metadata?.username == user ? metadata : nil
    }

    var isToken: Bool { DeviceToken.isWellFormed(entry) }

    /// Unix milliseconds; of an entry that does not belong to the user before any.
    package var updatedAt: Int64 { metadata?.updatedAt ?? .min }

    /// The bundle id; empty if the device has none.
    package var app: String { metadata?.bundleID ?? "" }

    /// Orders entries that do not belong to the user first, then by the time of their registration.
    package func leaves(before other: Member) -> Bool {
      updatedAt == other.updatedAt ? entry.lexicographicallyPrecedes(other.entry) : updatedAt < other.updatedAt
    }
  }

  /// Returns a part of a user's set and the cursor of the next one; nil after the last. Entries may occur twice.
  func scan(
    _ user: String, from cursor: String
  ) async throws(RedisError) -> (entries: [[UInt8]], next: String?) {
    let command = RedisCommand("SSCAN", RegistryKeys.userTokens(user), cursor, "COUNT").with(Registry.scanCount)
    let reply = try await connection.send(command).array ?? []
    guard reply.count == 2, let next = reply[0].string else { return ([], nil) }
    return ((reply[1].array ?? []).compactMap(\.bytes), next == "0" ? nil : next)
  }

  /// Returns the stored metadata of the entries, in their order.
  func stored(_ entries: some Collection<[UInt8]>) async throws(RedisError) -> [[UInt8]?] {
    guard !entries.isEmpty else { return [] }
    var command = RedisCommand("MGET")
    for entry in entries { command.append(RegistryKeys.token(entry)) }
    return (try await connection.send(command).array ?? []).map(\.bytes)
  }

  /// Returns the entries of a user's set; about ``maximumScanned`` of a large one.
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

  /// Returns the entries of a user's set with their metadata.
  package func members(of user: String) async throws(RedisError) -> [Member] {
    let entries = Array(try await entries(of: user))
    var members: [Member] = []
    for start in stride(from: 0, to: entries.count, by: Registry.scanCount) {
      let part = entries[start..<min(start + Registry.scanCount, entries.count)]
      for (entry, stored) in zip(part, try await stored(part)) { members.append(Member(entry, stored, of: user)) }
    }
    return members
  }

  /// Removes these entries from a user, each unless it has changed.
  package func evict(_ members: [Member], from user: String) async throws(RedisError) {
    if let steps {
      _ = try await evict(members, from: user, keeping: 0, steps)
      return
    }
    for start in stride(from: 0, to: members.count, by: Registry.maximumBatch) {
      let batch = members[start..<min(start + Registry.maximumBatch, members.count)]
      _ = try await call(
        RegistryScripts.evict, keys: [RegistryKeys.userTokens(user)] + batch.flatMap(\.keys),
        arguments: { command in
          command.append(user)
          command.append(batch.count)
          for member in batch { member.append(to: &command) }
        })
    }
  }
}

// Keys and arguments of scripts.
extension Registry.Member {
  var keys: [String] {
    // An entry that is not a token has no metadata.
    let token = DeviceToken.isWellFormed(entry) ? String(decoding: entry, as: UTF8.self) : ""
    return [
      RegistryKeys.token(token),
      RegistryKeys.audience(app, shard: AudienceShard.shard(of: entry)),
    ]
  }

  func append(to command: inout RedisCommand) {
    command.append(entry)
    command.append(app)
    command.append(stored ?? [])
  }
}

extension RegistryScripts {
  /// KEYS
  ///   1  the user's set
  ///   then for each device
  ///   1  its metadata
  ///   2  the shard of its audience
  /// ARGV
  ///   1  the user
  ///   2  how many devices to remove at most
  ///   then for each device
  ///   1  its token
  ///   2  its bundle id
  ///   3  its metadata as it was read
  /// Returns how many devices were removed.
  static let evict = EventfulScript(reading + room + "return evict(KEYS[1], ARGV[1], tonumber(ARGV[2]), 2, 3)")
}

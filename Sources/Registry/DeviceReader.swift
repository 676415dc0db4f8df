import EventLoop
import Events
import PushModel
import Redis

/// Reads a user's set in parts, of any size. Not used to send a push.
@EventLoop
struct DeviceReader {
  /// Approximate number of entries of one SCAN or SSCAN.
  static let scanCount = 1000

  /// Maximum entries that are read to choose some of them: ten times what a user may have. A larger set shrinks in
  /// several steps.
  static let maximumScanned = 10_000

  let connection: RedisClient

  /// Returns a part of a user's set and the cursor of the next one; nil after the last. Entries may occur twice.
  func scan(_ user: Username, from cursor: String) async throws(RedisError) -> (entries: [[UInt8]], next: String?) {
    try await scan(RegistryKeys.userTokens(user), from: cursor)
  }

  /// Returns a part of a set, as ``scan(_:from:)-(Username,_)`` does.
  func scan(_ key: String, from cursor: String) async throws(RedisError) -> (entries: [[UInt8]], next: String?) {
    let command = RedisCommand("SSCAN", key, cursor, "COUNT").with(DeviceReader.scanCount)
    let reply = try await connection.send(command).array ?? []
    guard reply.count == 2, let next = reply[0].string else { return ([], nil) }
    return ((reply[1].array ?? []).compactMap(\.bytes), next == "0" ? nil : next)
  }

  /// Returns the stored metadata of the entries, in their order.
  func stored(_ entries: some Collection<[UInt8]>) async throws(RedisError) -> [[UInt8]?] {
    guard !entries.isEmpty else { return [] }
    let command = RedisCommand("MGET", entries.map(RegistryKeys.token))
    return (try await connection.send(command).array ?? []).map(\.bytes)
  }

  /// Returns what is stored about tokens.
  func devices(_ tokens: [String]) async throws(RedisError) -> [StoredDevice] {
    zip(tokens, try await stored(tokens.map { Array($0.utf8) })).map { StoredDevice($0, $1 ?? []) }
  }

  /// Returns what is stored about a token.
  func device(_ token: String) async throws(RedisError) -> StoredDevice {
    let replies = try await connection.replies(to: [RedisCommand("GET", RegistryKeys.token(entry: token))])
    return StoredDevice(token, replies[0].bytes ?? [])
  }

  /// Returns the entries of a user's set; about ``maximumScanned`` of a large one.
  func entries(of user: Username) async throws(RedisError) -> Set<[UInt8]> {
    var entries: Set<[UInt8]> = []
    var cursor: String? = "0"
    while let from = cursor, entries.count < DeviceReader.maximumScanned {
      let page = try await scan(user, from: from)
      entries.formUnion(page.entries)
      cursor = page.next
    }
    return entries
  }

  /// Returns the entries of a user's set with their metadata.
  func members(of user: Username) async throws(RedisError) -> [Registry.Member] {
    let entries = Array(try await entries(of: user))
    var members: [Registry.Member] = []
    for part in entries.batches(of: DeviceReader.scanCount) {
      for (entry, stored) in zip(part, try await stored(part)) {
        members.append(Registry.Member(entry, stored, of: user))
      }
    }
    return members
  }
}

extension Registry {
  /// An entry of a user's set.
  package struct Member: Sendable {
    let entry: [UInt8]
    let isToken: Bool
    /// The stored metadata; empty if the entry is no token or has none.
    let stored: [UInt8]
    /// Nil if the entry does not belong to the user.
    package let metadata: DeviceMetadata?

    init(_ entry: [UInt8], _ stored: [UInt8]?, of user: Username) {
      self.entry = entry
      isToken = DeviceToken.isWellFormed(entry)
      self.stored = isToken ? stored ?? [] : []
      let metadata = self.stored.isEmpty ? nil : DeviceMetadata(parsing: self.stored)
      self.metadata = metadata?.username == user ? metadata : nil
    }

    var token: String { String(decoding: entry, as: UTF8.self) }

    /// What removes an entry that does not belong to the user.
    var removal: Removal { Removal(entry: entry, reason: isToken ? .otherOwner : .malformedToken) }

    /// Unix milliseconds; of an entry that does not belong to the user before any.
    package var updatedAt: Int64 { metadata?.updatedAt ?? .min }

    /// The bundle id; empty if the device has none.
    package var app: String { metadata?.bundleID ?? "" }

    package var limitGroup: DeviceLimitGroup { DeviceLimitGroup(metadata) }

    /// Orders entries that do not belong to the user first, then by the time of their registration.
    package func leaves(before other: Member) -> Bool {
      updatedAt == other.updatedAt ? entry.lexicographicallyPrecedes(other.entry) : updatedAt < other.updatedAt
    }

    /// What removes the device from a user who has more than `limit`, unless it has changed.
    func eviction(
      from user: Username, keeping limit: Int = 0, because reason: String = RemovalCause.limit
    ) -> TokenOperation {
      (token, .evict(user: user, stored: stored, above: limit, reason: reason))
    }
  }
}

import Crypto
public import EventLoop
public import Redis

/// The credentials in Redis. Nothing is cached: a revoked credential is refused from the next request on.
@EventLoop
public final class Credentials {
  /// - `records`, `digests`: the records by name, and the names by digest.
  /// - `mark`: of operators, that there has been one; else `records`.
  /// - `current`: the record that was read, empty if there is none. `new`: the record with the secret.
  ///
  /// Returns 1 if added, 0 if the record is not the current one, -1 if the secret is taken.
  static let add = RedisScript(
    keys: ["records", "digests", "mark"], arguments: ["name", "current", "new", "digest"],
    """
    if (redis.call('HGET', records, name) or '') ~= current then return 0 end
    if redis.call('HEXISTS', digests, digest) == 1 then return -1 end
    redis.call('PERSIST', records)
    redis.call('HSET', records, name, new)
    redis.call('HSET', digests, digest, name)
    if mark ~= records then redis.call('SET', mark, '1') end
    return 1
    """)

  /// - `records`, `digests`, `uses`: the records by name, the names by digest, and when each secret was last used.
  /// - `mark`: of operators, that there has been one; else `records`. Operators of an earlier version have none.
  /// - `current`: the record that was read. `new`: the record without the secrets, empty if there are no others.
  /// - `secrets`: the digest of each removed secret and the field of its last use.
  ///
  /// Returns 1 if removed, 0 if the record is not the current one.
  private static let revoke = RedisScript(
    keys: ["records", "digests", "uses", "mark"], arguments: ["name", "current", "new", "secrets..."],
    """
    if redis.call('HGET', records, name) ~= current then return 0 end
    redis.call('HEXISTS', digests, name)
    redis.call('PERSIST', records)
    for at = secrets + 1, #ARGV, 2 do
      redis.call('HDEL', digests, ARGV[at])
      redis.pcall('HDEL', uses, ARGV[at + 1])
    end
    if new == '' then redis.call('HDEL', records, name) else redis.call('HSET', records, name, new) end
    if mark ~= records then redis.call('SET', mark, '1') end
    return 1
    """)

  /// Returns 1 if replaced, 0 if the record is not the current one. PERSIST changes nothing; as the first write it makes a
  /// full Redis accept the next one.
  private static let replace = RedisScript(
    keys: ["records"], arguments: ["name", "current", "new"],
    """
    if redis.call('HGET', records, name) ~= current then return 0 end
    redis.call('PERSIST', records)
    redis.call('HSET', records, name, new)
    return 1
    """)

  let connection: RedisClient

  public init(connection: RedisClient) {
    self.connection = connection
    connection.preload([Credentials.add, Credentials.revoke, Credentials.replace])
  }

  /// Returns the credentials of a kind in the order of their names; those of a user in the order in which they were added.
  public func list(_ kind: Credential.Kind) async throws(RedisError) -> [Credential] {
    let reply = try await connection.send(RedisCommand("HGETALL", CredentialKeys.credentials(kind)))
    return Credentials.sorted(reply.array ?? [], kind)
  }

  /// `entries` are names, each before its record.
  static func sorted(_ entries: [RedisValue], _ kind: Credential.Kind) -> [Credential] {
    var records: [(name: String, record: CredentialRecord)] = []
    for index in stride(from: 0, to: entries.count - 1, by: 2) {
      guard let name = entries[index].string, let json = entries[index + 1].bytes,
        let record = CredentialRecord(kind: kind, name: name, json: json)
      else { continue }
      records.append((name, record))
    }
    return records.sorted { $0.name < $1.name }.flatMap(\.record.credentials)
  }

  /// Removes the secret of this label, or all of the name without a label. Returns false if there is none.
  public func revoke(
    _ kind: Credential.Kind, _ name: String, label: String? = nil
  ) async throws(RedisError) -> Bool {
    // Repeat if another process has changed the record between reading and writing.
    while let stored = try await stored(kind, name) {
      var record = CredentialRecord(kind: kind, name: name, json: stored)
      let removed = record?.remove(label) ?? []
      // A malformed record has no labels, and can be removed as a whole.
      guard label == nil || !removed.isEmpty else { return false }
      let left = record?.credentials.isEmpty == false ? record?.json : nil
      let reply = try await connection.send(
        Credentials.revoke(
          records: CredentialKeys.credentials(kind), digests: CredentialKeys.credentialDigests(kind),
          uses: CredentialKeys.lastUses(kind), mark: CredentialKeys.mark(kind), name: name, current: stored,
          new: left ?? [], secrets: RedisList(removed.flatMap { [$0.digest, $0.useKey] })))
      if reply.integer == 1 { return true }
    }
    return false
  }

  /// Enables or disables all secrets of a name. Returns false if there is none.
  public func setEnabled(_ isEnabled: Bool, _ kind: Credential.Kind, _ name: String) async throws(RedisError) -> Bool {
    // Repeat if another process has changed the record between reading and writing.
    while let stored = try await stored(kind, name),
      var record = CredentialRecord(kind: kind, name: name, json: stored)
    {
      record.isEnabled = isEnabled
      let reply = try await connection.send(
        Credentials.replace(
          records: CredentialKeys.credentials(kind), name: name, current: stored, new: record.json))
      if reply.integer == 1 { return true }
    }
    return false
  }

  /// Returns the credential of this name (normalised) with this secret if it is enabled. Takes the same time for an unknown
  /// name as for one with a single secret.
  public func enabled(
    _ kind: Credential.Kind, _ name: String, secret: String
  ) async throws(RedisError) -> Credential? {
    let stored = try await stored(kind, name)
    let found = Credentials.verified(kind, name, stored, digest: Credential.digest(of: secret))
    return found?.isEnabled == true ? found : nil
  }

  /// Returns the credential of this name, of a user the first one, enabled or not, or nil if there is none.
  public func credential(_ kind: Credential.Kind, _ name: String) async throws(RedisError) -> Credential? {
    try await stored(kind, name).flatMap { CredentialRecord(kind: kind, name: name, json: $0) }?.credentials[0]
  }

  /// Whether there are operators of the dashboard, enabled or not.
  public enum OperatorPresence: Sendable, Equatable {
    case some
    /// There were some, and all were revoked.
    case revoked
    /// There has never been one.
    case never
  }

  /// Reads whether there are operators, before whether there have been any: both are written in one step.
  public func operatorPresence() async throws(RedisError) -> OperatorPresence {
    let keys = [CredentialKeys.credentials(.operator), CredentialKeys.operatorMark]
    let replies = await connection.exchange(keys.map { RedisCommand("EXISTS", $0) })
    if try replies[0].get().integer == 1 { return .some }
    return try replies[1].get().integer == 1 ? .revoked : .never
  }

  /// Returns the credential with this secret, enabled or not, or nil if there is none.
  public func find(_ kind: Credential.Kind, secret: String) async throws(RedisError) -> Credential? {
    let digest = Credential.digest(of: secret)
    // Two commands that only read: a script would need the right to write, and who may write credentials can make them.
    let reply = try await connection.send(RedisCommand("HGET", CredentialKeys.credentialDigests(kind), digest))
    let name = reply.string ?? ""
    return Credentials.verified(kind, name, try await stored(kind, name), digest: digest)
  }

  /// Returns the credential of a record that has this digest. Without a record another one is parsed and compared instead, so
  /// that both cases take the same time.
  private static func verified(
    _ kind: Credential.Kind, _ name: String, _ record: [UInt8]?, digest: String
  ) -> Credential? {
    let stored = record.flatMap { CredentialRecord(kind: kind, name: name, json: $0) }
    let compared = stored ?? CredentialRecord(kind: kind, name: name, json: absent(kind))
    var found: Credential?
    // All are compared, wherever the right one stands.
    for credential in compared?.credentials ?? []
    where Secret.areEqual(Array(digest.utf8), Array(credential.digest.utf8)) {
      found = credential
    }
    return stored == nil ? nil : found
  }

  /// The record that is parsed in place of a missing one: as long as a record, with the digest of no secret.
  private static func absent(_ kind: Credential.Kind) -> [UInt8] { kind == .key ? absentKey : absentOther }
  private static let absentKey = absentRecord(.key)
  private static let absentOther = absentRecord(.user)

  private static func absentRecord(_ kind: Credential.Kind) -> [UInt8] {
    let digest = String(repeating: "0", count: Credential.digest(of: "").utf8.count)
    return CredentialRecord(Credential(kind: kind, name: "", digest: digest, createdAt: Clock.unixMilliseconds)).json
  }

  private func stored(_ kind: Credential.Kind, _ name: String) async throws(RedisError) -> [UInt8]? {
    try await connection.send(RedisCommand("HGET", CredentialKeys.credentials(kind), name)).bytes
  }
}

import Crypto
public import EventLoop
public import Redis

/// The credentials in Redis. Nothing is cached: a revoked credential is refused from the next request on.
@EventLoop
public final class Credentials {
  /// - `records`, `digests`: the records by name, and the names by digest.
  /// - `mark`: of operators, that there has been one; else `records`.
  ///
  /// Returns 1 if added, 0 if the name is taken, -1 if the secret is taken.
  private static let add = RedisScript(
    keys: ["records", "digests", "mark"], arguments: ["name", "record", "digest"],
    """
    if redis.call('HEXISTS', records, name) == 1 then return 0 end
    if redis.call('HEXISTS', digests, digest) == 1 then return -1 end
    redis.call('HDEL', records, name)
    redis.call('HSET', records, name, record)
    redis.call('HSET', digests, digest, name)
    if mark ~= records then redis.call('SET', mark, '1') end
    return 1
    """)

  /// - `records`, `digests`, `uses`: the records by name, the names by digest, and when each was last used, by name.
  /// - `mark`: of operators, that there has been one; else `records`. Operators of an earlier version have none.
  ///
  /// Returns 1 if removed, 0 if there is no such credential.
  private static let revoke = RedisScript(
    keys: ["records", "digests", "uses", "mark"], arguments: ["name"],
    """
    local ok, record = pcall(cjson.decode, redis.call('HGET', records, name) or '')
    if ok and type(record) == 'table' and type(record.sha256) == 'string' then
      redis.call('HDEL', digests, record.sha256)
    end
    redis.call('HDEL', uses, name)
    local removed = redis.call('HDEL', records, name)
    if removed == 1 and mark ~= records then redis.call('SET', mark, '1') end
    return removed
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

  /// Why a credential was not added.
  public enum Conflict: Sendable, Equatable {
    case nameTaken
    case secretTaken
  }

  let connection: RedisClient

  public init(connection: RedisClient) {
    self.connection = connection
    connection.preload([Credentials.add, Credentials.revoke, Credentials.replace])
  }

  /// Stores a new credential. Returns nil if it was added.
  public func add(_ credential: Credential) async throws(RedisError) -> Conflict? {
    let keys = keys(credential.kind)
    let reply = try await connection.send(
      Credentials.add(
        records: keys[0], digests: keys[1], mark: mark(credential.kind).first ?? keys[0], name: credential.name,
        record: credential.json, digest: credential.digest))
    return switch reply.integer {
    case 0: .nameTaken
    case -1: .secretTaken
    default: nil
    }
  }

  /// Returns the credentials of a kind in the order of their names.
  public func list(_ kind: Credential.Kind) async throws(RedisError) -> [Credential] {
    let reply = try await connection.send(RedisCommand("HGETALL", keys(kind)[0]))
    return Credentials.sorted(reply.array ?? [], kind)
  }

  /// `entries` are names, each before its record.
  static func sorted(_ entries: [RedisValue], _ kind: Credential.Kind) -> [Credential] {
    stride(from: 0, to: entries.count - 1, by: 2).compactMap { index in
      guard let name = entries[index].string, let json = entries[index + 1].bytes else { return nil }
      return Credential(kind: kind, name: name, json: json)
    }.sorted { $0.name < $1.name }
  }

  /// Removes a credential. Returns false if there is no credential of that name.
  public func revoke(_ kind: Credential.Kind, _ name: String) async throws(RedisError) -> Bool {
    let keys = keys(kind)
    let reply = try await connection.send(
      Credentials.revoke(
        records: keys[0], digests: keys[1], uses: CredentialKeys.lastUses(kind), mark: mark(kind).first ?? keys[0],
        name: name))
    return reply.integer == 1
  }

  /// Enables or disables a credential. Returns false if there is no credential of that name.
  public func setEnabled(_ isEnabled: Bool, _ kind: Credential.Kind, _ name: String) async throws(RedisError) -> Bool {
    // Repeat if another process has changed the record between reading and writing.
    while let stored = try await stored(kind, name), var credential = Credential(kind: kind, name: name, json: stored) {
      credential.isEnabled = isEnabled
      let reply = try await connection.send(
        Credentials.replace(records: keys(kind)[0], name: name, current: stored, new: credential.json))
      if reply.integer == 1 { return true }
    }
    return false
  }

  /// Whether `bearer` is the token of `username` (normalised) and enabled.
  public func isValid(bearer: String, of username: String) async throws(RedisError) -> Bool {
    try await user(username, bearer: bearer) != nil
  }

  /// Returns the credential of `username` (normalised) if `bearer` is its token and it is enabled. Takes the same time for an
  /// unknown user.
  public func user(_ username: String, bearer: String) async throws(RedisError) -> Credential? {
    try await enabled(.user, username, secret: bearer)
  }

  /// Returns the operator `name` if `secret` is the operator's and the operator is enabled. Takes the same time for an unknown
  /// operator.
  public func `operator`(_ name: String, secret: String) async throws(RedisError) -> Credential? {
    try await enabled(.operator, name, secret: secret)
  }

  private func enabled(
    _ kind: Credential.Kind, _ name: String, secret: String
  ) async throws(RedisError) -> Credential? {
    let stored = try await stored(kind, name)
    let found = Credentials.verified(kind, name, stored, digest: Credential.digest(of: secret))
    return found?.isEnabled == true ? found : nil
  }

  /// Returns the credential of this name, enabled or not, or nil if there is none.
  public func credential(_ kind: Credential.Kind, _ name: String) async throws(RedisError) -> Credential? {
    try await stored(kind, name).flatMap { Credential(kind: kind, name: name, json: $0) }
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
    let name = try await connection.send(RedisCommand("HGET", keys(kind)[1], digest)).string ?? ""
    return Credentials.verified(kind, name, try await stored(kind, name), digest: digest)
  }

  /// Returns the credential in a record if it has this digest. Without a record another one is parsed and compared instead, so
  /// that both cases take the same time.
  private static func verified(
    _ kind: Credential.Kind, _ name: String, _ record: [UInt8]?, digest: String
  ) -> Credential? {
    let stored = record.flatMap { Credential(kind: kind, name: name, json: $0) }
    let credential = stored ?? Credential(kind: kind, name: name, json: absent(kind))
    let isEqual = Secret.areEqual(Array(digest.utf8), Array((credential?.digest ?? "").utf8))
    return isEqual ? stored : nil
  }

  /// The record that is parsed in place of a missing one: as long as a record, with the digest of no secret.
  private static func absent(_ kind: Credential.Kind) -> [UInt8] { kind == .key ? absentKey : absentOther }
  private static let absentKey = absentRecord(.key)
  private static let absentOther = absentRecord(.user)

  private static func absentRecord(_ kind: Credential.Kind) -> [UInt8] {
    let digest = String(repeating: "0", count: Credential.digest(of: "").utf8.count)
    return Credential(kind: kind, name: "", digest: digest, createdAt: Clock.unixMilliseconds).json
  }

  private func stored(_ kind: Credential.Kind, _ name: String) async throws(RedisError) -> [UInt8]? {
    try await connection.send(RedisCommand("HGET", keys(kind)[0], name)).bytes
  }

  private func keys(_ kind: Credential.Kind) -> [String] {
    [CredentialKeys.credentials(kind), CredentialKeys.credentialDigests(kind)]
  }

  private func mark(_ kind: Credential.Kind) -> [String] { kind == .operator ? [CredentialKeys.operatorMark] : [] }
}

/// The Redis keys of credentials and limits.
public enum CredentialKeys {
  /// Hash: the JSON of each ``Credential`` by its name.
  public static func credentials(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue)" }

  /// Hash: the name of each credential by the digest of its secret.
  static func credentialDigests(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue):digests" }

  /// Hash: when each credential was last used, in unix milliseconds, by its name.
  static func lastUses(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue):used" }

  /// String: there has been an operator. Without it and without operators the dashboard needs no sign-in.
  public static let operatorMark = "martlet:{credentials}:operator:existed"

  /// Hash: the token bucket of an API key and its requests of the day.
  static func allowance(_ key: String) -> String { "martlet:{allowance}:\(key)" }

  /// String with a TTL: how often an action has happened in a window.
  static func windowCount(_ action: LimitedAction, _ subject: String) -> String {
    "martlet:{limit}:\(action.rawValue):\(subject)"
  }
}

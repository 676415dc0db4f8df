import Crypto
public import EventLoop
public import Redis

/// The credentials in redis. Nothing is kept here: a revocation holds from the next request on.
@EventLoop
public final class Credentials {
  /// KEYS: credentials by name, names by digest. ARGV: name, record, digest. The digest of a former secret goes with it.
  /// 1 added, 0 there is one of that name, -1 another has that secret.
  private static let add = RedisScript(
    """
    if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 0 end
    if redis.call('HEXISTS', KEYS[2], ARGV[3]) == 1 then return -1 end
    redis.call('HDEL', KEYS[1], ARGV[1])
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
    redis.call('HSET', KEYS[2], ARGV[3], ARGV[1])
    return 1
    """)

  /// KEYS as ``add``; ARGV: name. Returns whether there was one.
  private static let revoke = RedisScript(
    """
    local ok, record = pcall(cjson.decode, redis.call('HGET', KEYS[1], ARGV[1]) or '')
    if ok and type(record) == 'table' and type(record.sha256) == 'string' then
      redis.call('HDEL', KEYS[2], record.sha256)
    end
    return redis.call('HDEL', KEYS[1], ARGV[1])
    """)

  /// KEYS as ``add``; ARGV: digest. {name, record}, or false, after the same reads.
  private static let find = RedisScript(
    """
    local name = redis.call('HGET', KEYS[2], ARGV[1])
    local record = redis.call('HGET', KEYS[1], name or '')
    return name and record and {name, record}
    """)

  /// KEYS: credentials by name. ARGV: name, the record as it was, the record as it shall be. 1 done.
  private static let replace = RedisScript(
    """
    if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
    redis.call('HDEL', KEYS[1], ARGV[1])
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
    return 1
    """)

  /// Why a credential was not added.
  public enum Conflict: Sendable, Equatable {
    case nameTaken
    case secretTaken
  }

  private let connection: RedisConnection

  public init(connection: RedisConnection) {
    self.connection = connection
    connection.preload([Credentials.add, Credentials.revoke, Credentials.find, Credentials.replace])
  }

  /// Nil when it was added.
  public func add(_ credential: Credential) async throws(RedisError) -> Conflict? {
    let reply = try await connection.call(Credentials.add, keys: keys(credential.kind)) { command in
      command.append(credential.name)
      command.append(credential.json())
      command.append(credential.digest)
    }
    return switch reply.integer {
    case 0: .nameTaken
    case -1: .secretTaken
    default: nil
    }
  }

  /// In the order of their names.
  public func list(_ kind: Credential.Kind) async throws(RedisError) -> [Credential] {
    let reply = try await connection.send(RedisCommand("HGETALL", keys(kind)[0])).array ?? []
    var found: [Credential] = []
    for index in stride(from: 0, to: reply.count - 1, by: 2) {
      guard let name = reply[index].string, let json = reply[index + 1].bytes else { continue }
      if let credential = Credential(kind: kind, name: name, json: json) { found.append(credential) }
    }
    return found.sorted { $0.name < $1.name }
  }

  /// False when there is none of that name.
  public func revoke(_ kind: Credential.Kind, _ name: String) async throws(RedisError) -> Bool {
    try await connection.run(Credentials.revoke, keys: keys(kind), arguments: [name]).integer == 1
  }

  /// False when there is none of that name.
  public func setEnabled(_ isEnabled: Bool, _ kind: Credential.Kind, _ name: String) async throws(RedisError) -> Bool {
    // Once more when somebody else has changed it between reading and writing.
    while let stored = try await stored(kind, name), var credential = Credential(kind: kind, name: name, json: stored) {
      credential.isEnabled = isEnabled
      let reply = try await connection.call(Credentials.replace, keys: [keys(kind)[0]]) { command in
        command.append(name)
        command.append(stored)
        command.append(credential.json())
      }
      if reply.integer == 1 { return true }
    }
    return false
  }

  /// Whether `bearer` is the token of `username` (normalised). Takes the same time whether or not there is such a user.
  public func isValid(bearer: String, of username: String) async throws(RedisError) -> Bool {
    let stored = try await stored(.user, username)
    return Credentials.verified(.user, username, stored, digest: Credential.digest(of: bearer))?.isEnabled == true
  }

  /// The credential that `secret` belongs to, enabled or not; nil when there is none.
  public func find(_ kind: Credential.Kind, secret: String) async throws(RedisError) -> Credential? {
    let digest = Credential.digest(of: secret)
    let reply = try await connection.run(Credentials.find, keys: keys(kind), arguments: [digest]).array ?? []
    return Credentials.verified(kind, reply.first?.string ?? "", reply.dropFirst().first?.bytes, digest: digest)
  }

  /// The credential of a record, if its digest is this one. Where there is no record, another is read and compared in its place.
  private static func verified(
    _ kind: Credential.Kind, _ name: String, _ record: [UInt8]?, digest: String
  ) -> Credential? {
    let stored = record.flatMap { Credential(kind: kind, name: name, json: $0) }
    let credential = stored ?? Credential(kind: kind, name: name, json: absent(kind))
    let isEqual = Secret.areEqual(Array(digest.utf8), Array((credential?.digest ?? "").utf8))
    return isEqual ? stored : nil
  }

  /// What is read in the place of a record that is not there: as long as one, and no secret's.
  private static func absent(_ kind: Credential.Kind) -> [UInt8] { kind == .key ? absentKey : absentOther }
  private static let absentKey = absentRecord(.key)
  private static let absentOther = absentRecord(.user)

  private static func absentRecord(_ kind: Credential.Kind) -> [UInt8] {
    let digest = String(repeating: "0", count: Credential.digest(of: "").utf8.count)
    return Credential(kind: kind, name: "", digest: digest, createdAt: Clock.unixMilliseconds).json()
  }

  private func stored(_ kind: Credential.Kind, _ name: String) async throws(RedisError) -> [UInt8]? {
    try await connection.send(RedisCommand("HGET", keys(kind)[0], name)).bytes
  }

  private func keys(_ kind: Credential.Kind) -> [String] {
    [CredentialKeys.credentials(kind), CredentialKeys.credentialDigests(kind)]
  }
}

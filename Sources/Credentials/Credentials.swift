import Crypto
import PushModel
public import EventLoop
public import Redis

/// The credentials in Redis. Nothing is cached: a revoked credential is refused from the next request on.
@EventLoop
public final class Credentials {
  let connection: RedisClient

  public init(connection: RedisClient) {
    self.connection = connection
    connection.preload([CredentialScripts.addScript, CredentialScripts.revokeScript, CredentialScripts.replaceScript])
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
    var isRevoked = false
    for name in try await storedNames(of: name, kind) {
      if try await revoke(kind, storedName: name, label: label) { isRevoked = true }
    }
    return isRevoked
  }

  private func revoke(
    _ kind: Credential.Kind, storedName name: String, label: String?
  ) async throws(RedisError) -> Bool {
    // Repeat if another process has changed the record between reading and writing.
    while let stored = try await stored(kind, name) {
      var record = CredentialRecord(kind: kind, name: name, json: stored)
      let removed = record?.remove(label) ?? []
      // A malformed record has no labels, and can be removed as a whole.
      guard label == nil || !removed.isEmpty else { return false }
      let left = record?.credentials.isEmpty == false ? record?.json : nil
      let reply = try await connection.send(
        CredentialScripts.revoke(
          records: CredentialKeys.credentials(kind), digests: CredentialKeys.credentialDigests(kind),
          uses: CredentialKeys.lastUses(kind), mark: CredentialKeys.mark(kind), name: name, current: stored,
          new: left ?? [], secrets: RedisList(removed.flatMap { [$0.digest, $0.useKey] })))
      if reply.integer == 1 { return true }
    }
    return false
  }

  /// Enables or disables all secrets of a name. Returns false if there is none.
  public func setEnabled(_ isEnabled: Bool, _ kind: Credential.Kind, _ name: String) async throws(RedisError) -> Bool {
    var isChanged = false
    for name in try await storedNames(of: name, kind) {
      if try await setEnabled(isEnabled, kind, storedName: name) { isChanged = true }
    }
    return isChanged
  }

  private func setEnabled(
    _ isEnabled: Bool, _ kind: Credential.Kind, storedName name: String
  ) async throws(RedisError) -> Bool {
    // Repeat if another process has changed the record between reading and writing.
    while let stored = try await stored(kind, name),
      var record = CredentialRecord(kind: kind, name: name, json: stored)
    {
      record.isEnabled = isEnabled
      let reply = try await connection.send(
        CredentialScripts.replace(
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
    let digest = Credential.digest(of: secret)
    var found = Credentials.verified(kind, name, try await stored(kind, name), digest: digest)
    if found == nil, kind == .user, Username(name).hasOtherForms {
      found = try await find(kind, digest: digest)
      if found?.name.hasSameBytes(as: name) == false { found = nil }
    }
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
    try await find(kind, digest: Credential.digest(of: secret))
  }

  private func find(_ kind: Credential.Kind, digest: String) async throws(RedisError) -> Credential? {
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

  /// The names under which the credentials of a name are stored: of a user also other forms of the name, which 2.0.0 has stored.
  private func storedNames(of name: String, _ kind: Credential.Kind) async throws(RedisError) -> [String] {
    let user = Username(name)
    guard kind == .user, user.hasOtherForms else { return [name] }
    let stored = try await connection.send(RedisCommand("HKEYS", CredentialKeys.credentials(kind))).array ?? []
    return [name]
      + stored.compactMap(\.string).filter { Username($0) == user && ExactText($0) != ExactText(name) }
  }

  private func stored(_ kind: Credential.Kind, _ name: String) async throws(RedisError) -> [UInt8]? {
    try await connection.send(RedisCommand("HGET", CredentialKeys.credentials(kind), name)).bytes
  }
}

extension Credentials {
  /// Why a credential was not added.
  public enum Conflict: Sendable, Equatable {
    case nameTaken
    /// The user has a secret of this label.
    case labelTaken
    /// The user has ``Credential/maximumSecrets``.
    case tooMany
    /// The secret is to be disabled, and the user is enabled.
    case enabled
    case secretTaken
  }

  /// Stores a new credential. Returns nil if it was added.
  public func add(_ credential: Credential) async throws(RedisError) -> Conflict? {
    try await add([credential], of: credential.kind)[0]
  }

  /// Stores credentials of one kind, as if one after the other. Returns nil for each that was added.
  public func add(_ credentials: [Credential], of kind: Credential.Kind) async throws(RedisError) -> [Conflict?] {
    var conflicts = [Conflict?](repeating: nil, count: credentials.count)
    // Repeat those whose records another process has changed between reading and writing.
    var open = Array(credentials.indices)
    while !open.isEmpty {
      let additions = try await additions(of: open.map { credentials[$0] }, kind)
      let calls = zip(open, additions).compactMap { index, addition -> (index: Int, call: RedisCall)? in
        switch addition {
        case .refused(let conflict):
          conflicts[index] = conflict
          return nil
        case .record(let new, let current): return (index, call(credentials[index], current, new))
        }
      }
      let replies = await EventLoop.gather(calls) { call, reply in connection.send(call.call, reply) }
      open = []
      for (call, reply) in zip(calls, replies) {
        switch try reply.get().integer {
        case 0: open.append(call.index)
        case -1: conflicts[call.index] = .secretTaken
        default: break
        }
      }
    }
    return conflicts
  }

  private enum Addition {
    case refused(Conflict)
    /// The new record, and the one that it replaces, empty if there is none.
    case record([UInt8], replacing: [UInt8])
  }

  /// Decides about each credential, as if those before it were stored, also if their secrets turn out to be taken.
  private func additions(
    of credentials: [Credential], _ kind: Credential.Kind
  ) async throws(RedisError) -> [Addition] {
    let command = RedisCommand("HMGET", [CredentialKeys.credentials(kind)] + credentials.map(\.name))
    let stored = try await connection.send(command).array ?? []
    var changed: [ExactText: [UInt8]] = [:]
    return zip(credentials, stored).map { credential, value in
      let current = changed[ExactText(credential.name)] ?? value.bytes
      let addition = Credentials.adding(credential, to: current)
      if case .record(let new, _) = addition { changed[ExactText(credential.name)] = new }
      return addition
    }
  }

  private static func adding(_ credential: Credential, to current: [UInt8]?) -> Addition {
    guard let current else { return .record(CredentialRecord(credential).json, replacing: []) }
    guard credential.kind == .user,
      var record = CredentialRecord(kind: credential.kind, name: credential.name, json: current)
    else { return .refused(.nameTaken) }
    if let conflict = record.add(credential) { return .refused(conflict) }
    return .record(record.json, replacing: current)
  }

  private func call(_ credential: Credential, _ current: [UInt8], _ new: [UInt8]) -> RedisCall {
    CredentialScripts.add(
      records: CredentialKeys.credentials(credential.kind),
      digests: CredentialKeys.credentialDigests(credential.kind), mark: CredentialKeys.mark(credential.kind),
      name: credential.name, current: current, new: new, digest: credential.digest)
  }
}

extension Credentials {
  /// A part of the credentials of a kind.
  public struct Part: Sendable {
    /// In the order of their names, within the part.
    public let credentials: [Credential]
    /// Where the next part begins; nil if this is the last one.
    public let next: String?
  }

  /// Returns about `count` credentials. A credential that is added or removed between two parts may be missing.
  ///
  /// - Parameter cursor: `0`, or the beginning of the next part.
  public func part(_ kind: Credential.Kind, cursor: String, count: Int) async throws(RedisError) -> Part {
    let key = CredentialKeys.credentials(kind)
    let reply = try await connection.send(RedisCommand("HSCAN", key, cursor, "COUNT", String(count))).array ?? []
    let next = reply.first?.string ?? "0"
    return Part(
      credentials: Credentials.sorted(reply.dropFirst().first?.array ?? [], kind), next: next == "0" ? nil : next)
  }
}

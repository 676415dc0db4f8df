import EventLoop
public import Redis

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
    var changed: [String: [UInt8]] = [:]
    return zip(credentials, stored).map { credential, value in
      let current = changed[credential.name] ?? value.bytes
      let addition = Credentials.adding(credential, to: current)
      if case .record(let new, _) = addition { changed[credential.name] = new }
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
    Credentials.add(
      records: CredentialKeys.credentials(credential.kind),
      digests: CredentialKeys.credentialDigests(credential.kind), mark: CredentialKeys.mark(credential.kind),
      name: credential.name, current: current, new: new, digest: credential.digest)
  }
}

package import PushModel
package import Redis

/// What became of a device or an instance of a backup.
package enum Restoration: Sendable {
  case created
  /// An older record was replaced.
  case updated
  /// The record in Redis stays.
  case kept
  /// A key has another type.
  case wrongType
  /// The user's devices must be read first.
  case full
}

extension Registry {
  /// Writes devices unchanged, each unless the one in Redis is at least as new. One that is `isAdmitted` may be the user's
  /// however many the user has.
  package func restore(
    _ devices: [(token: DeviceToken, metadata: DeviceMetadata, isAdmitted: Bool)]
  ) async throws(RedisError) -> [Restoration] {
    let operations = devices.map { ($0.token.text, DeviceOperation.restore($0.metadata, isAdmitted: $0.isAdmitted)) }
    var results: [Restoration] = []
    for outcome in try await executor.run(operations) {
      switch outcome.end {
      case .written: results.append(outcome.before.metadata == nil ? .created : .updated)
      case .unchanged: results.append(.kept)
      case .otherType: results.append(.wrongType)
      case .full: results.append(.full)
      case .conflict: throw Registry.conflict
      }
    }
    return results
  }

  /// Writes instances unchanged, each unless the one in Redis is at least as new. A token that another instance has stays
  /// that one's.
  package func restore(
    _ instances: [(id: String, record: InstanceRecord)]
  ) async throws(RedisError) -> [Restoration] {
    let outcomes = try await self.instances.run(instances.map { ($0.id, InstanceOperation.restore($0.record)) })
    let written = zip(instances, outcomes).filter { $1.isWritten && $0.record.isActive }
    _ = try await connection.replies(
      to: written.map { instance, _ in
        RedisCommand("SET", RegistryKeys.instanceOfToken(instance.record.token), instance.id, "NX", "EX")
          .with(DeviceKind.app.lifetime)
      })
    return outcomes.map { outcome in !outcome.isWritten ? .kept : outcome.before == nil ? .created : .updated }
  }

  /// Returns the entries of a user's set with their metadata.
  package func members(of user: String) async throws(RedisError) -> [Registry.Member] {
    try await reader.members(of: user)
  }

  /// Removes these entries from a user, each unless it has changed.
  package func evict(_ members: [Registry.Member], from user: String) async throws(RedisError) {
    _ = try await executor.clean(.user(user), members.filter { !$0.isToken }.map(\.removal))
    _ = try await executor.evict(members.filter(\.isToken), from: user)
  }
}

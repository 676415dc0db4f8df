import EventLoop
import Operations
import Redis
import Registry

/// Reads the devices of a user, a token or an instance.
@EventLoop
struct DeviceDirectory {
  /// Devices of one user that are read, at most: no setting allows more.
  static let maximumRead = 1000

  let registry: Registry
  let connection: RedisClient

  /// All devices that the query names, in the order of their tokens, without ``DeviceEntry/refusal``.
  func devices(of query: InspectedAddressee) async throws(RedisError) -> (entries: [DeviceEntry], isComplete: Bool) {
    switch query {
    case .user(let name):
      let page = try await registry.devices(of: name, after: nil, limit: DeviceDirectory.maximumRead)
      return (page.devices.map { DeviceEntry(device: $0) }, !page.hasMore)
    case .token(let token): return (try await registered(token).map { [DeviceEntry(device: $0)] } ?? [], true)
    case .instance(let id): return (try await device(ofInstance: id), true)
    }
  }

  /// Adds the last refusals.
  func noted(_ entries: [DeviceEntry]) async throws(RedisError) -> [DeviceEntry] {
    let replies = try await connection.replies(
      to: entries.map { RedisCommand("GET", RegistryKeys.refusal($0.device.token)) })
    return zip(entries, replies).map { entry, reply in
      var entry = entry
      entry.refusal = reply.contents.flatMap(RefusalNote.init(parsing:))
      return entry
    }
  }

  private func registered(_ token: String) async throws(RedisError) -> Device? {
    let reply = try await connection.replies(to: [RedisCommand("GET", RegistryKeys.token(token))])
    guard let metadata = reply[0].contents.flatMap(DeviceMetadata.init(parsing:)) else { return nil }
    return Device(
      token: token, username: metadata.username.isEmpty ? nil : metadata.username, platform: metadata.platform,
      bundleID: metadata.bundleID, environment: metadata.environment, updatedAt: metadata.updatedAt,
      createdAt: metadata.createdAt)
  }

  private func device(ofInstance id: String) async throws(RedisError) -> [DeviceEntry] {
    let reply = try await connection.replies(to: [RedisCommand("GET", RegistryKeys.instance(id))])
    guard let record = reply[0].contents.flatMap(InstanceRecord.init(parsing:)) else { return [] }
    let device = Device(
      token: record.token, bundleID: record.bundleID, environment: record.environment, updatedAt: record.updatedAt)
    return [DeviceEntry(device: device, isActive: record.isActive)]
  }
}

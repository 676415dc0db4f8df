import EventLoop
public import PushModel
public import Redis

/// Some of a user's devices, in the order of their tokens.
public struct DevicePage: Sendable, Equatable {
  public let devices: [Device]
  /// Whether there are devices after the last.
  public let hasMore: Bool
  /// Entries that do not belong to the user, for ``Registry/clean(user:_:completion:)``.
  public let removals: [Removal]
}

/// Operations of docs/http/device-api.md. Usernames must be normalised.
extension Registry {
  /// Replaces the token of a user's device.
  ///
  /// The new token keeps the app, the environment and the time of the first registration, and is taken from another
  /// owner. `new` may equal `current`. Returns nil and changes nothing if the user has no device `current`.
  public func replace(
    token current: DeviceToken, with new: DeviceToken, of username: String, now: Int64
  ) async throws(RedisError) -> Device? {
    let (former, next) = (try await executor.entry(of: current), try await executor.entry(of: new))
    if next == former {
      let outcome = try await executor.complete(.renew(username, now: now), on: former)
      return outcome.end == .written ? outcome.after.device : nil
    }
    let (device, removed) = try await executor.replace(token: former, with: next, of: username, now: now)
    logRemoved(removed, of: username)
    return device?.device
  }

  /// Removes a device from its owner and its app. Returns false if it is not registered.
  public func forget(token: DeviceToken) async throws(RedisError) -> Bool {
    try await executor.complete(.forget, on: try await executor.entry(of: token)).end == .written
  }

  /// Returns up to `limit` of a user's devices after `token`, in the order of their tokens.
  ///
  /// Changes between two calls move no device to another page. At most ``maximumScanned`` entries of a set are read.
  public func devices(
    of username: String, after token: DeviceToken?, limit: Int
  ) async throws(RedisError) -> DevicePage {
    let last = Array((token?.text ?? "").utf8)
    let united = Set(try await executor.unite(Array(try await reader.entries(of: username))))
    let entries = united.filter { last.isEmpty || last.lexicographicallyPrecedes($0) }
      .sorted { $0.lexicographicallyPrecedes($1) }
    var rest = entries[...]
    var found = Resolution()
    while found.devices.count <= limit, !rest.isEmpty {
      let batch = rest.prefix(Registry.maximumBatch)
      rest.removeFirst(batch.count)
      for (entry, stored) in zip(batch, try await reader.stored(batch)) {
        found.apply(Ownership.decide(entry: entry, metadata: stored, owner: username))
      }
    }
    return DevicePage(
      devices: Array(found.devices.prefix(limit)), hasMore: found.devices.count > limit, removals: found.removals)
  }
}

import EventLoop
import Events
public import PushModel
public import Redis

// The devices of instances. A token is one instance's at most: that which registered it last.
extension Registry {
  /// Replaces the device of an instance, and takes its token from another instance.
  public func register(instance id: String, _ record: InstanceRecord) async throws(RedisError) {
    let key = RegistryKeys.instanceOfToken(record.token)
    let claim = RedisCommand("SET", key, id, "EX").with(DeviceKind.app.lifetime).with("GET")
    var former = try await connection.send(claim).string
    // Earlier sidecars have stored the token in the form that the app used.
    if former == nil, let other = record.token.upperCased {
      former = try await connection.send(RedisCommand("GET", RegistryKeys.holder(of: other))).string
    }
    if let former, former != id {
      let loss = InstanceOperation.deactivate(
        token: record.token, notAfter: record.updatedAt, reason: RemovalCause.replaced)
      _ = try await instances.run([(former, loss)])
    }
    _ = try await instances.run([(id, .register(record))])
    // Another instance may have registered it meanwhile, and have found the record that is replaced now.
    guard let owner = try await instance(ofToken: record.token), owner != id else { return }
    let loss = InstanceOperation.deactivate(
      token: record.token, notAfter: record.updatedAt, reason: RemovalCause.replaced)
    _ = try await instances.run([(id, loss)])
  }

  /// Returns the instance that registered the token last; nil if none did.
  public func instance(ofToken token: DeviceToken) async throws(RedisError) -> String? {
    try await connection.send(RedisCommand("GET", RegistryKeys.instanceOfToken(token))).string
  }

  /// Removes the device of an instance. Returns false if it has none.
  public func unregister(instance id: String) async throws(RedisError) -> Bool {
    try await instances.run([(id, .unregister)]).contains(where: \.isWritten)
  }

  /// Stops pushes to an instance, or allows them again.
  public func suspend(instance id: String, _ isSuspended: Bool) async throws(RedisError) {
    _ = try await instances.run([(id, .suspend(isSuspended))])
  }

  /// Marks the record of an instance inactive if it still has this token and was not registered after `notAfter` (unix
  /// ms). Passes the number of records marked: 0 or 1.
  public func deactivate(
    instance id: String, token: DeviceToken, notAfter: Int64, reason: String = StaleDevice.unknownReason,
    completion: @escaping CountCompletion
  ) {
    let operation = InstanceOperation.deactivate(token: token, notAfter: notAfter, reason: reason)
    complete(completion) { () async throws(RedisError) in
      try await self.instances.run([(id, operation)]).count(where: \.isWritten)
    }
  }
}

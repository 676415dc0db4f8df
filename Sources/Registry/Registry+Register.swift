import EventLoop
public import Redis
import Telemetry

extension Registry {
  nonisolated static let conflict = RedisError.notSent(
    "the token is being registered by others at the same time; try again")

  /// Registers a device for a user, and takes it from another owner. Returns that owner.
  @discardableResult
  public func register(_ registration: Registration) async throws(RedisError) -> String? {
    try await enroll(registration).previousOwner
  }

  /// Registers a device as ``register(_:)`` does, and returns what is known about it.
  public func enroll(_ registration: Registration) async throws(RedisError) -> Enrollment {
    let (outcome, removed) = try await executor.register(registration)
    logRemoved(removed, of: registration.username)
    let former = outcome.end == .written ? outcome.before.owner : ""
    return Enrollment(
      device: outcome.after.device,
      previousOwner: former.isEmpty || former == registration.username ? nil : former)
  }

  func logRemoved(_ count: Int, of user: String) {
    guard count > 0 else { return }
    log.info(
      "a user has the maximum number of devices of an app; those registered longest ago were removed",
      ["username": .init(user), "removed": .init(count)])
  }

  /// Replaces the device of an instance.
  public func register(instance id: String, _ record: InstanceRecord) async throws(RedisError) {
    // Only the events depend on what was there.
    if events == nil {
      _ = try await connection.send(RedisCommand("SET", RegistryKeys.instance(id)).with(record.json()))
    } else {
      _ = try await instances.run([(id, InstanceOperation.register(record))])
    }
  }
}

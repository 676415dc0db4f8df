import EventLoop
import PushModel
public import Redis

/// The tokens of Live Activities. They are devices: they change hands, expire and are removed as all others are.
extension Registry {
  /// Registers an update token of a Live Activity, or a push-to-start token, as ``register(_:)``. A former update token of the
  /// same phone leaves the activity. Returns the previous owner, or nil without registering anything if the activity has
  /// ``maximumActivityTokens`` others.
  public func register(activityToken registration: Registration) async throws(RedisError) -> Enrollment? {
    var formers: [Device] = []
    if registration.kind == .activity, let activity = registration.activity {
      let others = try await activityDevices(activity).filter { $0.token != registration.token }
      guard others.count < Registry.maximumActivityTokens else { return nil }
      formers = others.filter { $0.deviceID != nil && $0.deviceID == registration.deviceID }
    }
    let enrollment = try await register(registration)
    for former in formers where former.username == registration.username {
      _ = try await unregister(token: former.token, username: registration.username)
    }
    return enrollment
  }

  /// The devices that have registered an update token of the activity.
  public func activityDevices(_ id: String) async throws(RedisError) -> [Device] {
    let resolution = await resolve(.activity(id))
    if let error = resolution.error { throw error }
    return resolution.devices
  }
}

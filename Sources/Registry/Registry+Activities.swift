import EventLoop
import PushModel
public import Redis

/// The tokens of Live Activities. They are devices: they change hands, expire and are removed as all others are.
extension Registry {
  /// Registers an update token of a Live Activity, or a push-to-start token, as ``register(_:)``. A former update token of the
  /// same phone leaves the activity, and the user's oldest one if there are ``maximumActivityTokensOfUser``. Returns the previous
  /// owner, or nil without registering anything if the activity has ``maximumActivityTokens`` others.
  /// - Parameter isExpected: Whether the activity is known to be this user's: others cannot fill it then.
  public func register(
    activityToken registration: Registration, isExpected: Bool = false
  ) async throws(RedisError) -> Enrollment? {
    var formers: [Device] = []
    if registration.kind == .activity, let activity = registration.activity {
      let known = try await activityDevices(activity)
      let others = known.filter { $0.token != registration.token }
      let isNew = known.count == others.count
      guard isExpected || !isNew || others.count < Registry.maximumActivityTokens else { return nil }
      let own = others.filter { $0.username == registration.username }.sorted { $0.updatedAt > $1.updatedAt }
      let isFormer = { (device: Device) in device.deviceID != nil && device.deviceID == registration.deviceID }
      formers = own.filter(isFormer) + own.filter { !isFormer($0) }.dropFirst(Registry.maximumActivityTokensOfUser - 1)
    }
    let enrollment = try await register(registration)
    for former in formers { _ = try await unregister(token: former.token, username: registration.username) }
    return enrollment
  }

  /// The devices that have registered an update token of the activity.
  public func activityDevices(_ id: String) async throws(RedisError) -> [Device] {
    let resolution = await resolve(.activity(id))
    if let error = resolution.error { throw error }
    return resolution.devices
  }
}

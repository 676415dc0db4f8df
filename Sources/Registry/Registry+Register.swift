import EventLoop
public import Redis
import Telemetry

extension Registry {
  nonisolated static let conflict = RedisError.notSent(
    "the token is being registered by others at the same time; try again")

  /// Registers a device for a user, and takes it from another owner. Returns what is known about it.
  @discardableResult
  public func register(_ registration: Registration) async throws(RedisError) -> Enrollment {
    // What is known of the device by another form of its token is kept.
    if registration.platform != .android { _ = try await executor.entry(of: registration.token) }
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

  /// Gives devices without an app this one. Returns how many were changed.
  package func assume(app: String, for tokens: [String]) async throws(RedisError) -> Int {
    try await executor.complete(tokens.map { ($0, .assume(app: app)) }).count { $0.end == .written }
  }
}

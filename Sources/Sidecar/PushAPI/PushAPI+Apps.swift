import Credentials
import EventLoop
import HTTPServer
import PushModel
import Redis
import Registry

/// The requests of users that may be bound to apps.
extension PushAPI {
  static let otherApp = Refusal(.forbidden, "This user may not use this app")

  /// Returns the app of a user's registration: the one that it names, else that of the binding, else the configured one.
  /// Throws 403 if the user is not for it, or is for several apps and the configured one is not among them.
  func app(of user: Credential, named: String?) throws(Refusal) -> String? {
    if let named {
      guard user.apps.allows(named) else { throw PushAPI.otherApp }
      return named
    }
    let configured = context.configuration.bundleID
    guard let app = user.apps.app(else: configured) else {
      if user.apps.isForEveryApp { return nil }
      throw PushAPI.otherApp
    }
    return app
  }

  /// The devices that the user's credential is for.
  func devices(_ devices: [Device], for user: Credential) -> [Device] {
    if user.apps.isForEveryApp { return devices }
    return devices.filter { user.isFor($0, else: context.configuration.bundleID) }
  }

  func unregister(
    _ body: [UInt8], for user: Credential, _ registry: Registry
  ) async throws(Refusal) -> HTTPResponse {
    let token = try PushBody(body).token()
    guard user.apps.isForEveryApp else {
      return unregistered(try await unregister(token, ofApps: user, registry))
    }
    guard let token else {
      return unregistered(try await refusingFaults(await registry.unregisterAll(username: user.name)))
    }
    return unregistered(try await refusingFaults(await registry.unregister(token: token, username: user.name)))
  }

  /// Unregisters one device, or all, of the apps that the user is bound to. Devices of other apps stay.
  private func unregister(
    _ token: DeviceToken?, ofApps user: Credential, _ registry: Registry
  ) async throws(Refusal) -> Unregistration {
    let query = token.map { DeviceQuery.userToken(user: user.name, token: $0) } ?? .user(user.name)
    let resolution = await registry.resolve(query)
    if let error = resolution.error { throw Refusal(error) }
    var counts = Unregistration()
    for device in devices(resolution.devices, for: user) {
      let one = try await refusingFaults(await registry.unregister(token: device.token, username: user.name))
      counts.entries += one.entries
      counts.metadata += one.metadata
    }
    guard token == nil else { return counts }
    counts.hasLookedUp = !resolution.devices.isEmpty
    counts.isSetGone = counts.entries > 0 && counts.entries == resolution.devices.count && resolution.removals.isEmpty
    return counts
  }
}

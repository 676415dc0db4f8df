import Credentials
import EventLoop
package import PushModel
import Redis
package import Registry

/// What a credential that is bound to apps may do. One that is not may do everything.
extension Credential {
  /// Returns the app that a request is for: the one that it names, else the one of the binding, else `fallback`.
  ///
  /// Throws 403 if the credential is not for it, 400 if it must be named. Nil only if the credential is for every app.
  package func app(named: String?, else fallback: String?) throws(Refusal) -> String? {
    guard let app = named ?? apps.app(else: fallback) else {
      guard apps.isForEveryApp else {
        throw .invalid("bundleId", "Invalid bundleId", "bundleId: missing; this \(noun) is for several apps")
      }
      return nil
    }
    guard apps.allows(app) else { throw notFor(app) }
    return app
  }

  /// Whether the credential is for the app of a device. `fallback`: the app of devices that were registered for none.
  package func isFor(_ device: Device, else fallback: String?) -> Bool {
    apps.allows(device.bundleID ?? fallback)
  }

  /// Throws 403, or `refusal`, if a registered device belongs to an app that the credential is not for.
  @EventLoop
  package func refuseForeign(
    _ token: DeviceToken, in registry: Registry, else fallback: String?, with refusal: Refusal? = nil
  ) async throws(Refusal) {
    guard !apps.isForEveryApp, let app = try await app(ofRegistered: token, in: registry, else: fallback),
      !apps.allows(app)
    else { return }
    throw refusal
      ?? Refusal(.forbidden, "Forbidden", "This \(noun) is not for the app that the device is registered for")
  }

  /// Whether a token is registered, for an app that the credential is for.
  @EventLoop
  package func mayFind(_ token: DeviceToken, in registry: Registry, else fallback: String?) async throws(Refusal)
    -> Bool
  {
    if apps.isForEveryApp { return true }
    return apps.allows(try await app(ofRegistered: token, in: registry, else: fallback))
  }

  private func notFor(_ app: String) -> Refusal {
    Refusal(.forbidden, "Forbidden", "This \(noun) is not for the app \"\(app)\"")
  }

  @EventLoop
  private func app(
    ofRegistered token: DeviceToken, in registry: Registry, else fallback: String?
  ) async throws(Refusal) -> String? {
    let resolution = await registry.resolve(.token(token))
    if let error = resolution.error { throw Refusal(error) }
    guard let device = resolution.devices.first, device.updatedAt > 0 else { return nil }
    return device.bundleID ?? fallback
  }

  private var noun: String {
    switch kind {
    case .user: "user"
    case .key: "API key"
    case .instance: "instance"
    case .operator: "operator"
    }
  }
}

import Credentials
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

  /// The apps whose devices it may change; nil for every app. The registry decides by it when it changes a device: what was read
  /// before may have changed.
  package func scope(else fallback: String?) -> AppScope? {
    apps.isForEveryApp ? nil : AppScope(apps.apps, else: fallback)
  }

  /// 403 for a token that is registered for another app.
  package var foreignDevice: Refusal {
    Refusal(.forbidden, "Forbidden", "This \(noun) is not for the app that the device is registered for")
  }

  private func notFor(_ app: String) -> Refusal {
    Refusal(.forbidden, "Forbidden", "This \(noun) is not for the app \"\(app)\"")
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

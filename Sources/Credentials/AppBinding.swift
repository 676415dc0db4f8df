public import JSON
import PushModel

/// The apps that a credential is for.
public struct AppBinding: Sendable, Equatable {
  /// Apps of one credential, at most.
  public static let maximumApps = 100
  /// For every app, also those that are added later.
  public static let everyApp = AppBinding([])

  /// Bundle ids in their order; empty for every app.
  public let apps: [String]

  public init(_ apps: Set<String>) {
    self.apps = apps.sorted()
  }

  public var isForEveryApp: Bool { apps.isEmpty }

  /// Whether the credential may be used for `app`. Nil stands for no app at all, which no bound credential is for.
  public func allows(_ app: String?) -> Bool {
    isForEveryApp || app.map(apps.contains) == true
  }

  /// Returns the app of a device that names none: the only app, else the configured one, `fallback`, if it is allowed.
  public func app(else fallback: String?) -> String? {
    if apps.count == 1 { return apps[0] }
    return allows(fallback) ? fallback : nil
  }

  /// Reads the member `apps` of a record; without it the binding is for every app. Returns nil if it is malformed: the
  /// credential must then be for no app rather than for every one.
  init?(_ value: JSONValue?) {
    guard let value else {
      self = .everyApp
      return
    }
    guard let apps = value.array?.compactMap(\.string), apps.count == value.array?.count, !apps.isEmpty,
      apps.allSatisfy(BundleID.isWellFormed)
    else { return nil }
    self.init(Set(apps))
  }

  /// Bundle ids as strings.
  public var json: JSONValue { .array(apps.map(JSONValue.string)) }
}

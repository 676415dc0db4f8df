/// Which app a bundle id belongs to, and which apps can share a client. Pure.
struct AppDirectory: Sendable {
  let apps: [APNsApp]
  /// For bundle ids that no app names; nil if these have no app.
  let fallback: APNsConfiguration?
  /// The configurations of the clients, each once.
  let configurations: [APNsConfiguration]
  /// The index of each app's configuration.
  let configurationOfApp: [Int]
  /// The index of the fallback's configuration.
  let configurationOfFallback: Int?
  private let appOfBundleID: [String: Int]

  init(apps: [APNsApp], fallback: APNsConfiguration?) {
    var configurations: [APNsConfiguration] = []
    var known: [ClientIdentity: Int] = [:]
    func index(of configuration: APNsConfiguration) -> Int {
      if let index = known[configuration.identity] { return index }
      known[configuration.identity] = configurations.count
      configurations.append(configuration)
      return configurations.count - 1
    }
    configurationOfFallback = fallback.map(index)
    configurationOfApp = apps.map { index(of: $0.configuration) }
    var appOfBundleID: [String: Int] = [:]
    for (index, app) in apps.enumerated() {
      for bundleID in app.bundleIDs { appOfBundleID[bundleID] = appOfBundleID[bundleID] ?? index }
    }
    self.appOfBundleID = appOfBundleID
    self.apps = apps
    self.fallback = fallback
    self.configurations = configurations
  }

  /// Returns the index of the app that names the bundle id; nil if none does.
  func app(of bundleID: String) -> Int? { appOfBundleID[bundleID] }

  /// The URLs of all gateways, with a configuration that uses each.
  var gateways: [String: Int] {
    var gateways: [String: Int] = [:]
    for (index, configuration) in configurations.enumerated() {
      for origin in configuration.origins { gateways[origin] = gateways[origin] ?? index }
    }
    return gateways
  }

  /// How this directory differs from `other`, the one before.
  func change(from other: AppDirectory) -> AppChange {
    let before = Dictionary(uniqueKeysWithValues: other.apps.enumerated().map { ($1.name, $0) })
    var change = AppChange()
    for app in apps {
      guard let index = before[app.name] else {
        change.added += 1
        continue
      }
      if !app.isSame(as: other.apps[index]) { change.changed += 1 }
    }
    change.removed = other.apps.count - (apps.count - change.added)
    return change
  }
}

/// The number of apps that a new directory adds, changes and removes.
public struct AppChange: Sendable, Equatable {
  public var added = 0
  public var changed = 0
  public var removed = 0

  public init(added: Int = 0, changed: Int = 0, removed: Int = 0) {
    self.added = added
    self.changed = changed
    self.removed = removed
  }
}

extension APNsApp {
  fileprivate func isSame(as other: APNsApp) -> Bool {
    bundleIDs == other.bundleIDs && configuration.identity == other.configuration.identity
      && environment == other.environment && share == other.share
  }
}

import PushModel

/// Which app a bundle id belongs to, and which apps can share a client. Pure.
struct AppDirectory: Sendable {
  let apps: [APNsApp]
  /// For bundle ids that no app names; nil if these have no app.
  let fallback: APNsConfiguration?
  /// The configurations of the clients, each once.
  let configurations: [APNsConfiguration]
  /// What a bundle id stands for: the index of its app, and those of its configurations, nil where no key may sign.
  struct Target: Sendable, Equatable {
    let app: Int
    let production: Int?
    let sandbox: Int?
  }

  /// The indices of each app's configurations.
  let configurationsOfApps: [[Int]]
  /// The index of the fallback's configuration.
  let configurationOfFallback: Int?
  private let targets: [String: Target]

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
    configurationsOfApps = apps.map { $0.configurations.map(index) }
    var targets: [String: Target] = [:]
    for (number, (app, indices)) in zip(apps, configurationsOfApps).enumerated() {
      for bundleID in app.bundleIDs where targets[bundleID] == nil {
        let route = app.routes[bundleID]
        targets[bundleID] = Target(
          app: number, production: route?.production.map { indices[$0] }, sandbox: route?.sandbox.map { indices[$0] })
      }
    }
    self.targets = targets
    self.apps = apps
    self.fallback = fallback
    self.configurations = configurations
  }

  /// Returns what a bundle id stands for; nil if no app names it.
  func target(of bundleID: String) -> Target? { targets[bundleID] }

  /// The bundle ids that have a configuration in one of the environments.
  func bundleIDs(ofConfiguration index: Int) -> Set<String> {
    Set(targets.lazy.filter { $0.value.production == index || $0.value.sandbox == index }.map(\.key))
  }

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
  /// Whether bundle ids that no app names have another key or gateway.
  public var isFallbackChanged = false

  public init(added: Int = 0, changed: Int = 0, removed: Int = 0) {
    self.added = added
    self.changed = changed
    self.removed = removed
  }
}

extension APNsApp {
  fileprivate func isSame(as other: APNsApp) -> Bool {
    bundleIDs == other.bundleIDs && routes == other.routes
      && configurations.map(\.identity) == other.configurations.map(\.identity)
      && environment == other.environment && share == other.share
  }
}

public import PushModel

/// One app of a fleet: its bundle ids, and how pushes to them reach APNs.
public struct APNsApp: Sendable {
  /// Valid shares of the permits.
  public static let shareRange = 1...1000

  /// Not empty, without duplicates.
  public let bundleIDs: [String]
  /// For each bundle id.
  let routes: [String: AppRoute]
  /// The environment of devices that were registered without one; nil for the default of the process.
  public let environment: PushEnvironment?
  /// Of the permits, relative to the other apps; within ``shareRange``.
  public let share: Int

  /// An app with one configuration for all its bundle ids and both environments.
  public init(
    bundleIDs: [String], configuration: APNsConfiguration, environment: PushEnvironment? = nil, share: Int = 1
  ) {
    let route = AppRoute(production: configuration, sandbox: configuration)
    self.init(
      bundleIDs: bundleIDs, routes: Dictionary(bundleIDs.map { ($0, route) }) { first, _ in first },
      environment: environment, share: share)
  }

  init(bundleIDs: [String], routes: [String: AppRoute], environment: PushEnvironment?, share: Int) {
    precondition(!bundleIDs.isEmpty, "an app has a bundle id")
    self.bundleIDs = bundleIDs
    self.routes = routes
    self.environment = environment
    self.share = share
  }

  /// The configurations, each once, in the order of the bundle ids, for production first.
  public var configurations: [APNsConfiguration] {
    var known: Set<ClientIdentity> = []
    return bundleIDs.flatMap { [routes[$0]?.production, routes[$0]?.sandbox] }.compactMap { $0 }
      .filter { known.insert($0.identity).inserted }
  }

  /// How pushes to a bundle id are sent in an environment; nil if no key may sign there.
  public func configuration(of bundleID: String, in environment: PushEnvironment) -> APNsConfiguration? {
    environment == .production ? routes[bundleID]?.production : routes[bundleID]?.sandbox
  }

  /// The first bundle id names the app in logs and metrics.
  public var name: String { bundleIDs[0] }
}

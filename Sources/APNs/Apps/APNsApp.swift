public import PushModel

/// One app of a fleet: its bundle ids, and how pushes to them reach APNs.
public struct APNsApp: Sendable {
  /// Valid shares of the permits.
  public static let shareRange = 1...1000

  /// Not empty, without duplicates.
  public let bundleIDs: [String]
  /// Each once, in the order of the bundle ids, for production first.
  public let configurations: [APNsConfiguration]
  /// For each bundle id, among the configurations.
  let routes: [String: AppRoute]
  /// The environment of devices that were registered without one; nil for the default of the process.
  public let environment: PushEnvironment?
  /// Of the permits, relative to the other apps; within ``shareRange``.
  public let share: Int

  /// An app with one configuration for all its bundle ids and both environments.
  public init(
    bundleIDs: [String], configuration: APNsConfiguration, environment: PushEnvironment? = nil, share: Int = 1
  ) {
    let route = AppRoute(production: 0, sandbox: 0)
    self.init(
      bundleIDs: bundleIDs, configurations: [configuration],
      routes: Dictionary(bundleIDs.map { ($0, route) }) { first, _ in first }, environment: environment, share: share)
  }

  init(
    bundleIDs: [String], configurations: [APNsConfiguration], routes: [String: AppRoute],
    environment: PushEnvironment?, share: Int
  ) {
    precondition(!bundleIDs.isEmpty, "an app has a bundle id")
    self.bundleIDs = bundleIDs
    self.configurations = configurations
    self.routes = routes
    self.environment = environment
    self.share = share
  }

  /// How pushes to a bundle id are sent in an environment; nil if no key may sign there.
  public func configuration(of bundleID: String, in environment: PushEnvironment) -> APNsConfiguration? {
    (environment == .production ? routes[bundleID]?.production : routes[bundleID]?.sandbox).map { configurations[$0] }
  }

  /// The first bundle id names the app in logs and metrics.
  public var name: String { bundleIDs[0] }
}

public import PushModel

/// A provider key of an app, and what it may sign for.
public struct AppKey: Sendable {
  public let credentials: APNsConfiguration.Credentials
  /// Nil: both environments.
  public let environment: PushEnvironment?
  /// Bundle ids; nil: all of the app.
  public let topics: [String]?

  public init(
    _ credentials: APNsConfiguration.Credentials, environment: PushEnvironment? = nil, topics: [String]? = nil
  ) {
    self.credentials = credentials
    self.environment = environment
    self.topics = topics
  }

  func maySign(for bundleID: String, in environment: PushEnvironment) -> Bool {
    (self.environment ?? environment) == environment && topics?.contains(bundleID) != false
  }
}

/// How pushes to a bundle id reach APNs in each environment: the indices of configurations, nil if no key may sign there.
struct AppRoute: Sendable, Equatable {
  let production: Int?
  let sandbox: Int?
}

extension APNsApp {
  /// An app whose keys may differ in what they sign for. `gateway`, `defaultEnvironment` and `connections` are those of its
  /// configurations. Throws ``APNsError/configuration(_:)`` if a value is invalid.
  public init(
    bundleIDs: [String], keys: [AppKey], gateway: APNsConfiguration.Gateway = .init(),
    defaultEnvironment: PushEnvironment = .production, environment: PushEnvironment? = nil, connections: Int = 1,
    share: Int = 1
  ) throws(APNsError) {
    // One key for everything needs one client; of several, each environment has a first of its own.
    let isOneForAll = keys.count == 1 && keys[0].environment == nil
    var configurations: [APNsConfiguration] = []
    var made: [[String]: Int] = [:]
    func configuration(of bundleID: String, in environment: PushEnvironment) throws(APNsError) -> Int? {
      let own = keys.filter { $0.maySign(for: bundleID, in: environment) }.map(\.credentials)
      guard !own.isEmpty else { return nil }
      let name = own.map(\.keyID) + (isOneForAll ? [] : [environment.rawValue])
      if let known = made[name] { return known }
      made[name] = configurations.count
      configurations.append(
        try APNsConfiguration(
          keys: own, gateway: gateway, defaultEnvironment: defaultEnvironment, only: isOneForAll ? nil : environment,
          connectionsPerEnvironment: connections))
      return configurations.count - 1
    }
    var routes: [String: AppRoute] = [:]
    for bundleID in bundleIDs {
      routes[bundleID] = AppRoute(
        production: try configuration(of: bundleID, in: .production),
        sandbox: try configuration(of: bundleID, in: .sandbox))
    }
    self.init(
      bundleIDs: bundleIDs, configurations: configurations, routes: routes, environment: environment, share: share)
  }
}

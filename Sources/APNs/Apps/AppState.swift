import EventLoop
public import PushModel

/// How the pushes of one app reach APNs at present, for operators.
public struct AppState: Sendable, Equatable {
  public struct Key: Sendable, Equatable {
    public let id: String
    /// Whether it signs the provider tokens.
    public let signs: Bool
    /// Whether APNs refuses it while the team has another one.
    public let isRefused: Bool
  }

  /// The connections to one gateway.
  public struct Gateway: Sendable, Equatable {
    public let environment: PushEnvironment
    public let url: String
    /// Connections that take pushes.
    public let openConnections: Int
    public let isUnavailable: Bool
  }

  /// Maximum length of a list of states.
  public static let maximumListed = 20

  /// Empty for the app of all bundle ids that no other app names.
  public let bundleIDs: [String]
  public let teamID: String
  public let keys: [Key]
  /// The environment of devices that were registered without one; nil for the default of the process.
  public let environment: PushEnvironment?
  public let share: Int
  /// Those that pushes have needed lately.
  public let gateways: [Gateway]
}

/// A route that APNs accepts pushes of, with the state of its removal guard.
public struct RouteState: Sendable, Equatable {
  public let environment: PushEnvironment
  public let topic: String
  /// Owners whose latest push the guard remembers, and those of them whose token was refused.
  public let owners: Int
  public let suspects: Int
}

extension AppClients {
  /// The first apps in the order of the configuration, then the fallback.
  public var states: [AppState] {
    var states = directory.apps.prefix(AppState.maximumListed).enumerated().map { index, app in
      let position = directory.configurationOfApp[index]
      return AppState(
        bundleIDs: app.bundleIDs, environment: app.environment, share: app.share, app.configuration,
        clients[position])
    }
    if let position = directory.configurationOfFallback, states.count < AppState.maximumListed {
      let configuration = directory.configurations[position]
      states.append(
        AppState(
          bundleIDs: [], environment: configuration.defaultEnvironment, share: 1, configuration, clients[position]))
    }
    return states
  }

  /// The routes with an accepted push, the latest first; at most ``RouteNotice/maximumListed``.
  public var routesInUse: [RouteState] {
    var latest: [Route] = []
    for client in clients.compactMap({ $0 }) {
      for route in client.routes.all where route.provenAt > 0 {
        let isFull = latest.count == RouteNotice.maximumListed
        if isFull, let last = latest.last, last.provenAt >= route.provenAt { continue }
        if isFull { latest.removeLast() }
        let index = latest.firstIndex { $0.provenAt < route.provenAt } ?? latest.endIndex
        latest.insert(route, at: index)
      }
    }
    return latest.map { route in
      let counts = route.guardCounts
      return RouteState(
        environment: route.environment, topic: route.topic, owners: counts.all, suspects: counts.suspect)
    }
  }
}

extension AppState {
  /// `client` is nil until a push needs it.
  @EventLoop
  fileprivate init(
    bundleIDs: [String], environment: PushEnvironment?, share: Int, _ configuration: APNsConfiguration,
    _ client: APNsClient?
  ) {
    let names = configuration.keyNames
    let refused = Set((client?.refusedKeys ?? []).map(\.keyID))
    let signing = client?.keys.current ?? 0
    self.init(
      bundleIDs: bundleIDs, teamID: names.first?.teamID ?? "",
      keys: names.enumerated().map {
        Key(id: $1.keyID, signs: $0 == signing, isRefused: refused.contains($1.keyID))
      }, environment: environment, share: share, gateways: client?.gatewayStates ?? [])
  }
}

extension APNsClient {
  fileprivate var gatewayStates: [AppState.Gateway] {
    let now = Clock.monotonicNanoseconds
    return PushEnvironment.allCases.compactMap { environment in
      guard let pool = pools[environment], !pool.isStandby else { return nil }
      return AppState.Gateway(
        environment: environment, url: pool.origin.url, openConnections: pool.openConnections,
        isUnavailable: pool.isUnavailable(now: now))
    }
  }
}

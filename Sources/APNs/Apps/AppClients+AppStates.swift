import EventLoop
public import PushModel

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

  /// The routes with an accepted push, the latest first; at most ``RouteState/maximumListed``.
  public var routesInUse: [RouteState] {
    var latest: [Route] = []
    for client in clients.compactMap({ $0 }) {
      for route in client.routes.all where route.provenAt > 0 {
        let isFull = latest.count == RouteState.maximumListed
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
    let keys = names.enumerated().map { place, name in
      Key(id: name.keyID, state: place == signing ? .signs : refused.contains(name.keyID) ? .refused : .spare)
    }
    self.init(
      bundleIDs: bundleIDs, team: names.first?.teamID ?? "", keys: keys, gateways: client?.gatewayStates ?? [])
    servesOthers = bundleIDs.isEmpty
    self.environment = environment
    self.share = share
  }
}

extension APNsClient {
  fileprivate var gatewayStates: [AppState.Gateway] {
    let now = Clock.monotonicNanoseconds
    return PushEnvironment.allCases.compactMap { environment in
      guard let pool = pools[environment], !pool.isStandby else { return nil }
      let connections = pool.openConnections
      return AppState.Gateway(
        environment: environment, url: pool.origin.url, connections: connections,
        state: pool.isUnavailable(now: now) ? .unreachable : connections > 0 ? .connected : .connecting)
    }
  }
}

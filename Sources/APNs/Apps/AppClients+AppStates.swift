import EventLoop
public import PushModel

extension AppClients {
  /// The first apps in the order of the configuration, then the fallback.
  public var states: [AppState] {
    let apps = zip(directory.apps, directory.configurationsOfApps).prefix(AppState.maximumListed)
    var states = apps.map { app, indices in
      AppState(
        bundleIDs: app.bundleIDs, environment: app.environment, share: app.share,
        indices.map { (directory.configurations[$0], clients[$0]) })
    }
    if let position = directory.configurationOfFallback, states.count < AppState.maximumListed {
      let configuration = directory.configurations[position]
      states.append(
        AppState(
          bundleIDs: [], environment: configuration.defaultEnvironment, share: 1,
          [(configuration, clients[position])]))
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
  /// The client of a configuration is nil until a push needs it.
  @EventLoop
  fileprivate init(
    bundleIDs: [String], environment: PushEnvironment?, share: Int,
    _ parts: [(configuration: APNsConfiguration, client: APNsClient?)]
  ) {
    var keys: [Key] = []
    for (configuration, client) in parts {
      let refused = Set((client?.refusedKeys ?? []).map(\.keyID))
      let signing = client?.keys.current ?? 0
      for (place, name) in configuration.keyNames.enumerated() {
        let key = Key(
          id: name.keyID, state: place == signing ? .signs : refused.contains(name.keyID) ? .refused : .spare)
        // A key of several environments and topics is shown as it is where it matters most.
        if let known = keys.firstIndex(where: { $0.id == key.id }) {
          if key.state != .spare, keys[known].state != .refused { keys[known] = key }
        } else {
          keys.append(key)
        }
      }
    }
    self.init(
      bundleIDs: bundleIDs, team: parts.first?.configuration.keyNames.first?.teamID ?? "", keys: keys,
      gateways: AppState.combined(parts.flatMap { $0.client?.gatewayStates ?? [] }))
    servesOthers = bundleIDs.isEmpty
    self.environment = environment
    self.share = share
  }

  /// One state for each gateway of an app, although each list of keys has its own connections. One that some cannot reach is
  /// out of reach.
  nonisolated static func combined(_ gateways: [Gateway]) -> [Gateway] {
    var all: [Gateway] = []
    for gateway in gateways {
      guard let known = all.firstIndex(where: { $0.environment == gateway.environment }) else {
        all.append(gateway)
        continue
      }
      let states = [all[known].state, gateway.state]
      all[known] = Gateway(
        environment: gateway.environment, url: gateway.url, connections: all[known].connections + gateway.connections,
        state: [.unreachable, .connecting].first(where: states.contains) ?? .connected)
    }
    return all
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

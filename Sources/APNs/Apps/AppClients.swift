public import EventLoop
public import PushModel
public import Telemetry

/// The clients of a fleet's apps: one for each team's keys and gateway, made when the first push needs it.
///
/// With the fallback alone it is that client and nothing else. Apps are added to it, or replace it, by ``replace(apps:fallback:)``.
@EventLoop
public final class AppClients {
  /// Time between two looks at gateways and replaced clients.
  private nonisolated static let interval = Duration.seconds(1)

  /// Called when a connection becomes ready or is lost, when a route is paused or resumed, and when another key signs.
  public var onStateChange: (@EventLoop () -> Void)?

  /// Called when a route was paused or resumed.
  public var onRouteChange: (@EventLoop (RouteChange) -> Void)?

  /// Whether pushes may be written at present; see ``APNsClient/mayWrite``.
  public var mayWrite: (@EventLoop () -> Bool)?

  /// Counts the changes of the clients. What a client was asked before the last one may not be what its app means now.
  public private(set) var generation = 0
  let parts: ClientParts
  private(set) var directory: AppDirectory
  /// By the index of their configuration; nil until a push needs it.
  private(set) var clients: [APNsClient?]
  /// The target of bundle ids that no app names.
  private(set) var fallback: AppTarget?
  /// The client of these.
  private(set) var fallbackClient: APNsClient?
  /// Replaced clients, until their pushes are answered.
  private var retired: [APNsClient] = []
  private var timer: LoopTimer?
  private(set) var isShutDown = false
  /// ``AppClients/maximumConnections``, or fewer in tests.
  var maximumConnections = AppClients.maximumConnections
  private var lastState = (isOut: false, isServing: true)
  /// A configuration for each gateway; nil if there are too many to look at.
  private(set) var gateways: [String: Int]?

  /// `fallback` is for bundle ids that no app names; at least one of both is given. Opens no connection yet. Registers
  /// metrics named `martlet_apns_…`.
  public init(fallback: APNsConfiguration?, apps: [APNsApp] = [], metrics: Metrics, log: Log) {
    precondition(fallback != nil || !apps.isEmpty, "there is an app")
    parts = ClientParts(metrics: metrics, log: log)
    directory = AppDirectory(apps: apps, fallback: fallback)
    clients = Array(repeating: nil, count: directory.configurations.count)
    gateways = AppClients.gateways(of: directory)
    useFallback()
    ClientGauges.register(metrics) { [weak self] in self?.all ?? [] }
    metrics.gauge(
      "martlet_apns_unreachable_gateways", labels: ["gateway"],
      help: "keys in use that cannot reach the gateway, for each gateway that one cannot reach, at most 32",
      worry: "there is any"
    ) { [weak self] in self?.unreachable.map { ([$0.key], Double($0.value)) } ?? [] }
  }

  /// Opens the connections of the fallback; those of apps open with their first push.
  public func start() {
    fallbackClient?.start()
    if !directory.apps.isEmpty { watch() }
  }

  /// Returns where the pushes of an app go; nil if no app has the bundle id.
  public func target(of bundleID: String) -> AppTarget? {
    guard !directory.apps.isEmpty, let target = directory.target(of: bundleID) else { return fallback }
    return AppTarget(
      production: target.production.map(client), sandbox: target.sandbox.map(client),
      environment: directory.apps[target.app].environment, generation: generation)
  }

  /// Whether only some bundle ids have an app.
  public var hasApps: Bool { !directory.apps.isEmpty }

  /// Whether bundle ids that no app names have a client.
  public var servesOthers: Bool { fallback != nil }

  /// Returns bundle ids of the apps.
  public func bundleIDs(atMost count: Int) -> [String] { Array(directory.apps.lazy.flatMap(\.bundleIDs).prefix(count)) }

  /// Uses other apps from now on, and another key for bundle ids that no app names, unless it is nil. Clients that are no longer used
  /// finish their pushes; those that were not sent move to the client of their app.
  public func replace(apps: [APNsApp], fallback other: APNsConfiguration? = nil) -> AppChange {
    let new = AppDirectory(apps: apps, fallback: directory.fallback.map { other ?? $0 })
    var change = new.change(from: directory)
    change.isFallbackChanged = new.fallback?.identity != directory.fallback?.identity
    let old = directory
    var kept: [ClientIdentity: Int] = [:]
    for (index, configuration) in old.configurations.enumerated() { kept[configuration.identity] = index }
    let before = clients
    generation += 1
    directory = new
    gateways = AppClients.gateways(of: new)
    clients = new.configurations.enumerated().map { index, configuration in
      guard let place = kept.removeValue(forKey: configuration.identity), let client = before[place] else { return nil }
      if !new.bundleIDs(ofConfiguration: index).isSubset(of: old.bundleIDs(ofConfiguration: place)) {
        client.topicsAdded()
      }
      return client
    }
    useFallback()
    if change.isFallbackChanged, !isShutDown { fallbackClient?.start() }
    for client in kept.values.compactMap({ before[$0] }) { retire(client) }
    if !isShutDown { watch() }
    if change.isFallbackChanged { onStateChange?() }
    return change
  }

  /// Closes all connections at once. Pushes that were written but not answered end as uncertain.
  public func close() {
    isShutDown = true
    timer = nil
    for client in all { client.close() }
    retired = []
  }

  /// All clients that were made.
  var all: [APNsClient] { clients.compactMap { $0 } + retired }

  func client(at index: Int) -> APNsClient {
    if let client = clients[index] { return client }
    let isFallback = index == directory.configurationOfFallback
    let client = APNsClient(configuration: directory.configurations[index], parts, opensOnDemand: !isFallback)
    client.mayWrite = { [weak self] in self?.mayWrite?() ?? true }
    client.onStateChange = { [weak self] in self?.onStateChange?() }
    client.onRouteChange = { [weak self] in self?.onRouteChange?($0) }
    if !isFallback { client.onOpen = { [weak self] in self?.makeRoom() } }
    if isShutDown { client.shutdown() }
    clients[index] = client
    return client
  }

  private func useFallback() {
    guard let index = directory.configurationOfFallback else { return }
    let client = client(at: index)
    fallback = AppTarget(production: client, sandbox: client, environment: nil, generation: generation)
    fallbackClient = client
  }

  private func retire(_ client: APNsClient) {
    retired.append(client)
    client.replace { [weak self] push in
      guard let self, !self.isShutDown,
        let other = self.target(of: push.shared.topicBundleID)?.client(for: push.shared.environment), other !== client
      else { return false }
      other.adopt(push)
      return true
    }
  }

  private static func gateways(of directory: AppDirectory) -> [String: Int]? {
    let gateways = directory.gateways
    return gateways.count <= maximumGateways ? gateways : nil
  }

  private func watch() {
    if timer == nil { timer = .every(AppClients.interval) { [weak self] in self?.tick() } }
  }

  private func tick() {
    for client in retired where client.inFlight == 0 && client.queued == 0 { client.close() }
    retired.removeAll { $0.inFlight == 0 && $0.queued == 0 }
    let state = (isOut: areGatewaysOut(), isServing: isServing)
    guard state != lastState else { return }
    lastState = state
    onStateChange?()
  }
}

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

extension AppClients {
  /// Connections on demand that are kept open without a push; with one more, that without a push for longest is closed.
  /// A connection takes 100 KB of memory and three file descriptors.
  nonisolated static let maximumConnections = 256

  /// Closes the connections without a push for longest if there are too many.
  func makeRoom() {
    var pools: [(pool: ConnectionPool, client: APNsClient)] = []
    var count = 0
    for client in all where client.opensOnDemand {
      for pool in client.allPools {
        pools.append((pool, client))
        count += pool.size
      }
    }
    guard count >= maximumConnections else { return }
    let now = Clock.monotonicNanoseconds
    pools.sort { $0.pool.usedAt < $1.pool.usedAt }
    for (pool, client) in pools where pool.isIdle(for: .zero, now: now) {
      client.close(pool)
      count -= pool.size
      if count < maximumConnections { return }
    }
  }
}

// What a worker asks about APNs as a whole.
extension AppClients {
  /// With more gateways than this, claims never stop because of an outage.
  nonisolated static let maximumGateways = 32

  /// Whether jobs may be claimed. With the fallback alone: a connection takes pushes. With apps, claims stop only if every
  /// gateway is out of reach: jobs of an app whose gateway is are postponed.
  public var takesPushes: Bool {
    guard hasApps else { return fallbackClient?.isConnected ?? false }
    return !areGatewaysOut()
  }

  /// Whether a connection that pushes need takes pushes. With apps also if none is needed at present.
  public var isServing: Bool {
    guard hasApps else { return fallbackClient?.isServing ?? false }
    let now = Clock.monotonicNanoseconds
    var isNeeded = false
    for client in clients {
      for pool in client?.pools.all ?? [] where !pool.isStandby {
        guard pool.isUnavailable(now: now) else { return true }
        isNeeded = true
      }
    }
    return !isNeeded
  }

  /// The paused routes, the longest paused first; at most ``RouteNotice/maximumListed``.
  public var pausedRoutes: [RouteNotice] { RouteNotice.listed(all.flatMap(\.pausedRoutes)) }

  /// The routes whose tokens are no longer removed. Pushes are still sent to them.
  public var stoppedRemovals: [RouteNotice] { RouteNotice.listed(all.flatMap(\.stoppedRemovals)) }

  /// The provider keys that APNs refuses while their team has another one; at most ``KeyNotice/maximumListed``.
  public var refusedKeys: [KeyNotice] { KeyNotice.listed(all.flatMap(\.refusedKeys)) }

  /// The last end of a connection that says something about a gateway.
  public var latestConnectionEnd: ConnectionEndNotice? { parts.ends.latest }

  /// The number of clients that cannot reach a gateway, by its URL; at most ``maximumGateways`` gateways.
  var unreachable: [String: Int] {
    let now = Clock.monotonicNanoseconds
    var counts: [String: Int] = [:]
    for client in all {
      for pool in client.allPools where !pool.isStandby && pool.isUnavailable(now: now) {
        guard counts[pool.origin.url] != nil || counts.count < AppClients.maximumGateways else { continue }
        counts[pool.origin.url, default: 0] += 1
      }
    }
    return counts
  }

  /// Returns whether every gateway is known to be out of reach. If those in use are, opens the others to find out.
  func areGatewaysOut() -> Bool {
    guard let gateways else { return false }
    let now = Clock.monotonicNanoseconds
    var known: Set<String> = []
    for client in clients {
      for pool in client?.pools.all ?? [] {
        guard pool.isUnavailable(now: now) else { return false }
        known.insert(pool.origin.url)
      }
    }
    guard !known.isEmpty, !isShutDown else { return false }
    let others = gateways.filter { !known.contains($0.key) }
    for (origin, index) in others { client(at: index).standBy(at: origin) }
    return others.isEmpty
  }
}

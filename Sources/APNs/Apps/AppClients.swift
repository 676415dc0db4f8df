public import EventLoop
import PushModel
public import Telemetry

/// The clients of a fleet's apps: one for each team's keys and gateway, made when the first push needs it.
///
/// With the fallback alone it is that client and nothing else. Apps are added to it, or replace it, by ``replace(apps:)``.
@EventLoop
public final class AppClients {
  /// Time between two looks at gateways and replaced clients.
  private nonisolated static let interval = Duration.seconds(1)

  /// Called when a connection becomes ready or is lost, when a route is paused or resumed, and when another key signs.
  public var onStateChange: (@EventLoop () -> Void)?

  /// Whether pushes may be written at present; see ``APNsClient/mayWrite``.
  public var mayWrite: (@EventLoop () -> Bool)?

  private let parts: ClientParts
  private(set) var directory: AppDirectory
  /// By the index of their configuration; nil until a push needs it.
  private(set) var clients: [APNsClient?]
  /// The target of bundle ids that no app names.
  private var fallback: AppTarget?
  /// Replaced clients, until their pushes are answered.
  private var retired: [APNsClient] = []
  private var timer: LoopTimer?
  private var isShutDown = false
  /// ``AppClients/maximumConnections``, or fewer in tests.
  var maximumConnections = AppClients.maximumConnections
  private var lastState = (isOut: false, isServing: true)
  /// A configuration for each gateway; nil if there are too many to look at.
  private var gateways: [String: Int]?

  /// `fallback` is for bundle ids that no app names; at least one of both is given. Opens no connection yet. Registers
  /// metrics named `martlet_apns_…`.
  public init(fallback: APNsConfiguration?, apps: [APNsApp] = [], metrics: Metrics, log: Log) {
    precondition(fallback != nil || !apps.isEmpty, "there is an app")
    parts = ClientParts(metrics: metrics, log: log)
    directory = AppDirectory(apps: apps, fallback: fallback)
    clients = Array(repeating: nil, count: directory.configurations.count)
    gateways = AppClients.gateways(of: directory)
    if let index = directory.configurationOfFallback {
      self.fallback = AppTarget(client: client(at: index), environment: nil)
    }
    ClientGauges.register(metrics) { [weak self] in self?.all ?? [] }
    metrics.gauge(
      "martlet_apns_unreachable_gateways", labels: ["gateway"],
      help: "Keys in use that cannot reach the gateway, for each gateway that one cannot reach."
    ) { [weak self] in self?.unreachable.map { ([$0.key], Double($0.value)) } ?? [] }
  }

  /// Opens the connections of the fallback; those of apps open with their first push.
  public func start() {
    fallback?.client.start()
    if !directory.apps.isEmpty { watch() }
  }

  /// Returns where the pushes of an app go; nil if no app has the bundle id.
  public func target(of bundleID: String) -> AppTarget? {
    guard !directory.apps.isEmpty, let app = directory.app(of: bundleID) else { return fallback }
    return AppTarget(
      client: client(at: directory.configurationOfApp[app]), environment: directory.apps[app].environment)
  }

  /// Whether only some bundle ids have an app.
  public var hasApps: Bool { !directory.apps.isEmpty }

  /// Uses other apps from now on. Clients that are no longer used finish their pushes; those that were not sent move to the
  /// client of their app.
  public func replace(apps: [APNsApp]) -> AppChange {
    let new = AppDirectory(apps: apps, fallback: directory.fallback)
    let change = new.change(from: directory)
    var kept: [ClientIdentity: APNsClient] = [:]
    for (configuration, client) in zip(directory.configurations, clients) { kept[configuration.identity] = client }
    directory = new
    gateways = AppClients.gateways(of: new)
    clients = new.configurations.map { kept.removeValue(forKey: $0.identity) }
    for client in kept.values { retire(client) }
    if !isShutDown { watch() }
    return change
  }

  /// Takes no more pushes. Pushes on a connection may still be answered; then call ``close()``.
  public func shutdown() {
    isShutDown = true
    for client in all { client.shutdown() }
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

  private func client(at index: Int) -> APNsClient {
    if let client = clients[index] { return client }
    let isFallback = index == directory.configurationOfFallback
    let client = APNsClient(configuration: directory.configurations[index], parts, opensOnDemand: !isFallback)
    client.mayWrite = { [weak self] in self?.mayWrite?() ?? true }
    client.onStateChange = { [weak self] in self?.onStateChange?() }
    if !isFallback { client.onOpen = { [weak self] in self?.makeRoom() } }
    if isShutDown { client.shutdown() }
    clients[index] = client
    return client
  }

  private func retire(_ client: APNsClient) {
    retired.append(client)
    client.replace { [weak self] push in
      guard let self, !self.isShutDown, let target = self.target(of: push.bundleID), target.client !== client else {
        return false
      }
      target.client.adopt(push)
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

// Connections on demand.
extension AppClients {
  /// Connections on demand that are kept open without a push; with one more, that without a push for longest is closed.
  /// A connection takes 100 KB of memory and three file descriptors.
  nonisolated static let maximumConnections = 400

  /// Closes the connections without a push for longest if there are too many.
  private func makeRoom() {
    var pools: [(pool: ConnectionPool, client: APNsClient)] = []
    var count = 0
    for client in all where client.opensOnDemand {
      for pool in client.pools.all {
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
  private nonisolated static let maximumGateways = 32

  /// Whether jobs may be claimed. With the fallback alone: a connection takes pushes. With apps, claims stop only if every
  /// gateway is out of reach: jobs of an app whose gateway is are put off.
  public var takesPushes: Bool {
    guard hasApps else { return fallback?.client.isConnected ?? false }
    return !areGatewaysOut()
  }

  /// Whether a connection that pushes need takes pushes. With apps also if none is needed at present.
  public var isServing: Bool {
    guard hasApps else { return fallback?.client.isServing ?? false }
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
  public var refusedKeys: [KeyNotice] { Array(all.flatMap(\.refusedKeys).prefix(KeyNotice.maximumListed)) }

  /// Returns how quickly APNs has answered since the last call.
  public func takeAnswerTimes() -> AnswerTimes {
    guard hasApps else { return fallback?.client.takeAnswerTimes() ?? AnswerTimes() }
    return all.reduce(AnswerTimes()) { $0.adding($1.takeAnswerTimes()) }
  }

  /// Counts only the answers to pushes that are sent from now on.
  public func restartAnswerTimes() {
    for client in all { client.restartAnswerTimes() }
  }

  /// The number of clients that cannot reach a gateway, by its URL; at most ``maximumGateways`` gateways.
  private var unreachable: [String: Int] {
    let now = Clock.monotonicNanoseconds
    var counts: [String: Int] = [:]
    for client in all {
      for pool in client.pools.all where !pool.isStandby && pool.isUnavailable(now: now) {
        guard counts[pool.origin.url] != nil || counts.count < AppClients.maximumGateways else { continue }
        counts[pool.origin.url, default: 0] += 1
      }
    }
    return counts
  }

  /// Returns whether every gateway is known to be out of reach. If those in use are, opens the others to find out.
  private func areGatewaysOut() -> Bool {
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

extension AnswerTimes {
  /// The sum; a push that is overdue anywhere is overdue.
  func adding(_ other: AnswerTimes) -> AnswerTimes {
    var sum = AnswerTimes(count: count + other.count, slowCount: slowCount + other.slowCount)
    switch (unanswered, other.unanswered) {
    case (.overdue, _), (_, .overdue): sum.unanswered = .overdue
    case (.none, .none): sum.unanswered = .none
    default: sum.unanswered = .recent
    }
    return sum
  }
}

public import EventLoop
import PushModel
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
      help: "Keys in use that cannot reach the gateway, for each gateway that one cannot reach."
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
      environment: directory.apps[target.app].environment)
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
    directory = new
    gateways = AppClients.gateways(of: new)
    clients = new.configurations.enumerated().map { index, configuration in
      guard let place = kept.removeValue(forKey: configuration.identity), let client = before[place] else { return nil }
      if !new.bundleIDs(ofConfiguration: index).isSubset(of: old.bundleIDs(ofConfiguration: place)) {
        client.topicsAdded()
      }
      return client
    }
    if change.isFallbackChanged {
      useFallback()
      if !isShutDown { fallbackClient?.start() }
    }
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
    fallback = AppTarget(production: client, sandbox: client, environment: nil)
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

import JSON
import PushModel
public import Queue

/// What operators read of a worker's heartbeat.
extension WorkerReport {
  /// Returns nil if `bytes` is not a report.
  public init?(json bytes: [UInt8]) {
    guard let value = try? JSONValue(parsing: bytes) else { return nil }
    self.init(numbers: value)
    func list<Entry>(_ key: String, atMost maximum: Int, _ read: (JSONValue) -> Entry?) -> [Entry] {
      (value[key]?.array ?? []).prefix(maximum).compactMap(read)
    }
    pausedRoutes = list("pausedRoutes", atMost: RouteNotice.maximumListed, RouteNotice.init)
    stoppedRemovals = list("stoppedRemovals", atMost: RouteNotice.maximumListed, RouteNotice.init)
    slowApps = list("slowApps", atMost: SlowAppReport.maximumListed, SlowAppReport.init)
    version = value["version"]?.string ?? ""
    redisMicroseconds = value["redisMicroseconds"].present.map(Int64.init)
    removedTokens = Int64(value["removedTokens"].present ?? 0)
    appStates = list("appStates", atMost: AppState.maximumListed, AppState.init)
    routes = list("routes", atMost: RouteState.maximumListed, RouteState.init)
    apps = AppsReport(value["apps"])
    connectionEnd = value["connectionEnd"].flatMap(ConnectionEndNotice.init)
    memory = value["memory"].flatMap(MemoryReport.init)
    isDraining = value["draining"]?.bool ?? false
  }
}

extension AppState {
  /// Keys, and gateways, that are read of one app.
  private static let maximumParts = 8

  /// Returns nil if `value` is not an app.
  init?(_ value: JSONValue) {
    guard let bundleIDs = value["bundleIds"]?.array else { return nil }
    func parts<Part>(_ key: String, _ read: (JSONValue) -> Part?) -> [Part] {
      (value[key]?.array ?? []).prefix(AppState.maximumParts).compactMap(read)
    }
    self.init(
      bundleIDs: bundleIDs.prefix(AppState.maximumBundleIDs).compactMap(\.string),
      team: value["team"]?.string ?? "", keys: parts("keys", Key.init), gateways: parts("gateways", Gateway.init))
    servesOthers = value["servesOthers"]?.bool ?? false
    environment = value["environment"]?.string.flatMap(PushEnvironment.init(named:))
    share = value["share"].present ?? 1
    inFlight = value["inFlight"].present ?? 0
    removedTokens = Int64(value["removedTokens"].present ?? 0)
  }
}

extension AppState.Key {
  fileprivate init?(_ value: JSONValue) {
    guard let id = value["id"]?.string, let state = value["state"]?.string.flatMap(State.init) else { return nil }
    self.init(id: id, state: state)
  }
}

extension AppState.Gateway {
  fileprivate init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string.flatMap(PushEnvironment.init(named:)),
      let url = value["url"]?.string, let state = value["state"]?.string.flatMap(State.init)
    else { return nil }
    self.init(
      environment: environment, url: url, connections: value["connections"].present ?? 0, state: state)
  }
}

extension AppsReport {
  /// Whether the worker pushes to nothing: polling-only mode.
  public var isPollingOnly: Bool { bundleIDs.isEmpty && !servesOthers }

  /// Whether the worker can push to the app; nil if the report does not tell.
  public func serves(_ bundleID: String) -> Bool? {
    servesOthers || bundleIDs.contains(bundleID) ? true : isComplete ? false : nil
  }

  /// Returns nil if `value` is not a report.
  init?(_ value: JSONValue?) {
    guard let value, let list = value["bundleIds"]?.array else { return nil }
    self.init(
      bundleIDs: list.prefix(AppsReport.maximumListed).compactMap(\.string), isComplete: value["more"]?.bool != true,
      servesOthers: value["others"]?.bool ?? false, defaultApp: value["default"]?.string,
      defaultEnvironment: value["environment"]?.string ?? "production")
  }
}

extension SlowAppReport {
  /// Returns nil if `value` is not a report.
  init?(_ value: JSONValue) {
    guard let app = value["app"]?.string else { return nil }
    self.init(
      app: app, inFlight: value["inFlight"].present ?? 0, concurrency: value["concurrency"].present ?? 0,
      waiting: value["waiting"].present ?? 0)
  }
}

extension RouteNotice {
  /// Returns nil if `value` is not a route.
  init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string.flatMap(PushEnvironment.init(named:)),
      let topic = value["topic"]?.string, let reason = value["reason"]?.string, let since = value["since"]?.time
    else { return nil }
    self.init(environment: environment, topic: topic, reason: reason, since: since)
  }
}

extension ConnectionEndNotice {
  /// Returns nil if `value` is not the end of a connection.
  init?(_ value: JSONValue) {
    guard let reason = value["reason"]?.string, let gateway = value["gateway"]?.string, let at = value["at"]?.time
    else { return nil }
    self.init(reason: reason, gateway: gateway, at: at)
  }
}

extension RouteState {
  /// Returns nil if `value` is not a route.
  init?(_ value: JSONValue) {
    guard let environment = value["environment"]?.string.flatMap(PushEnvironment.init(named:)),
      let topic = value["topic"]?.string
    else { return nil }
    self.init(
      environment: environment, topic: topic, owners: value["owners"].present ?? 0,
      suspects: value["suspects"].present ?? 0)
  }
}

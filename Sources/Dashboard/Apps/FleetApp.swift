import Operations
import PushModel
import Queue

/// An app, as all workers together report it. Pure.
struct FleetApp: Sendable, Equatable {
  struct Key: Sendable, Equatable {
    let id: String
    /// The workers that report each state.
    var states: [AppState.Key.State: Int]

    /// The state that matters most to an operator.
    var state: AppState.Key.State {
      if states[.refused] != nil { return .refused }
      return states[.signs] != nil ? .signs : .spare
    }
  }

  struct Gateway: Sendable, Equatable {
    let environment: PushEnvironment
    let url: String
    var connections = 0
    /// The workers that cannot reach it.
    var unreachable = 0
    /// The workers that use it.
    var workers = 0
  }

  let name: String
  var bundleIDs: [String]
  /// Whether the bundle ids that no other app names are this app's.
  let servesOthers: Bool
  var team: String
  var environment: PushEnvironment?
  var share: Int
  var keys: [Key] = []
  var gateways: [Gateway] = []
  /// The routes with pushes, each of the worker that remembers the most owners.
  var topics: [RouteState] = []
  var paused: [RouteNotice] = []
  var stoppedRemovals: [RouteNotice] = []
  /// Nil unless APNs answers slowly for it.
  var slow: SlowAppReport?
  var inFlight = 0
  var removedTokens: Int64 = 0
  var workers = 0

  var connections: Int { gateways.reduce(0) { $0 + $1.connections } }

  /// The bundle ids whose devices are counted. Those of other apps are known by the topics of their pushes.
  var audiences: [String] {
    let others = servesOthers ? topics.map(\.topic).filter { !bundleIDs.contains($0) } : []
    return bundleIDs + Set(others).sorted()
  }

  /// Whether the topic is that of one of its bundle ids, with or without a suffix like `.voip`.
  private func names(_ topic: String) -> Bool {
    bundleIDs.contains { topic == $0 || topic.hasPrefix($0 + ".") }
  }

  /// Adds up what the workers report. The apps are in the order of the first worker that reports them.
  static func merged(_ reports: [WorkerReport]) -> [FleetApp] {
    var apps: [FleetApp] = []
    for report in reports {
      for app in report.appStates {
        let index = apps.firstIndex { $0.name == app.name } ?? apps.endIndex
        if index == apps.endIndex { apps.append(FleetApp(app)) }
        apps[index].add(app)
      }
    }
    let named = apps
    let slow = SlowAppReport.sums(reports)
    let paused = FleetRoute.paused(reports).map(\.notice)
    let stoppedRemovals = FleetRoute.stoppedRemovals(reports).map(\.notice)
    for index in apps.indices {
      func isOwn(_ topic: String) -> Bool {
        named[index].names(topic) || named[index].servesOthers && !named.contains { $0.names(topic) }
      }
      for route in reports.flatMap(\.routes) where isOwn(route.topic) { apps[index].add(route) }
      apps[index].slow = slow.first { $0.app == named[index].name }
      apps[index].paused = paused.filter { isOwn($0.topic) }
      apps[index].stoppedRemovals = stoppedRemovals.filter { isOwn($0.topic) }
    }
    return apps
  }

  private init(_ report: AppState) {
    name = report.name
    bundleIDs = report.bundleIDs
    servesOthers = report.servesOthers
    team = report.team
    environment = report.environment
    share = report.share
  }

  private mutating func add(_ report: AppState) {
    workers += 1
    inFlight += report.inFlight
    removedTokens += report.removedTokens
    for key in report.keys {
      let index = keys.firstIndex { $0.id == key.id } ?? keys.endIndex
      if index == keys.endIndex { keys.append(Key(id: key.id, states: [:])) }
      keys[index].states[key.state, default: 0] += 1
    }
    for gateway in report.gateways {
      let index =
        gateways.firstIndex { $0.url == gateway.url && $0.environment == gateway.environment } ?? gateways.endIndex
      if index == gateways.endIndex {
        gateways.append(Gateway(environment: gateway.environment, url: gateway.url))
      }
      gateways[index].connections += gateway.connections
      gateways[index].unreachable += gateway.state == .unreachable ? 1 : 0
      gateways[index].workers += 1
    }
  }

  private mutating func add(_ route: RouteState) {
    guard let index = topics.firstIndex(where: { $0.topic == route.topic && $0.environment == route.environment })
    else { return topics.append(route) }
    if route.owners > topics[index].owners { topics[index] = route }
  }
}

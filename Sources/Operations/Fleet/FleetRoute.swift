public import JSON
public import PushModel
public import Queue

/// A route to APNs that workers have trouble with, as all of them together report it.
public struct FleetRoute: Sendable, Equatable {
  /// With the time of the worker that reports it the longest.
  public private(set) var notice: RouteNotice
  /// The number of workers that report it.
  public private(set) var workers: Int
  /// What an operator should do about it.
  public let fix: String

  public var object: JSONObject { notice.object + ["workers": workers, "fix": fix] }

  /// The routes that are paused.
  public static func paused(_ workers: some Sequence<WorkerReport>) -> [FleetRoute] {
    merged(workers.flatMap(\.pausedRoutes)) { PushReason.of($0).fix }
  }

  /// The routes whose tokens are not removed, because most look invalid.
  public static func stoppedRemovals(_ workers: some Sequence<WorkerReport>) -> [FleetRoute] {
    merged(workers.flatMap(\.stoppedRemovals)) { _ in PushReason.fixOfStoppedRemoval }
  }

  /// Returns each route once for each reason, the one with the longest trouble first.
  private static func merged(_ notices: [RouteNotice], fix: (String) -> String) -> [FleetRoute] {
    var routes: [[String]: FleetRoute] = [:]
    for notice in notices {
      let key = [notice.environment.rawValue, notice.topic, notice.reason]
      var route = routes[key] ?? FleetRoute(notice: notice, workers: 0, fix: fix(notice.reason))
      route.workers += 1
      route.notice.since = min(route.notice.since, notice.since)
      routes[key] = route
    }
    return routes.values.sorted {
      ($0.notice.since, $0.notice.topic, $0.notice.environment.rawValue, $0.notice.reason)
        < ($1.notice.since, $1.notice.topic, $1.notice.environment.rawValue, $1.notice.reason)
    }
  }
}

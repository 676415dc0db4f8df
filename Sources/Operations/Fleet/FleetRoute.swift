public import Queue

/// A route to APNs that workers have trouble with, as all of them together report it.
public struct FleetRoute: Sendable, Equatable {
  /// With the time of the worker that reports it the longest.
  public var report: RouteReport
  /// The number of workers that report it.
  public var workers: Int

  /// Returns each route once for each reason, the one with the longest trouble first.
  public static func merged(_ reports: some Sequence<RouteReport>) -> [FleetRoute] {
    var routes: [[String]: FleetRoute] = [:]
    for report in reports {
      let key = [report.environment, report.topic, report.reason]
      var route = routes[key] ?? FleetRoute(report: report, workers: 0)
      route.workers += 1
      route.report.since = min(route.report.since, report.since)
      routes[key] = route
    }
    return routes.values.sorted {
      ($0.report.since, $0.report.topic, $0.report.environment, $0.report.reason)
        < ($1.report.since, $1.report.topic, $1.report.environment, $1.report.reason)
    }
  }
}

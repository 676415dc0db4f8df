import PushModel
import Queue
import Testing

@testable import Operations

struct FleetRouteTests {
  private func notice(_ topic: String, _ reason: String, since: Int64) -> RouteNotice {
    RouteNotice(environment: .production, topic: topic, reason: reason, since: since)
  }

  private func report(_ paused: RouteNotice...) -> WorkerReport {
    var report = WorkerReport(startedAt: 1, jobs: 0, jobsPerSecond: 0, outstanding: 0, inFlight: 0, concurrency: 8)
    report.pausedRoutes = paused
    return report
  }

  @Test func `a route of several workers is one, with the earliest time and its fix`() {
    let routes = FleetRoute.paused([
      report(notice("com.b", "Forbidden", since: 20), notice("com.a", "Forbidden", since: 15)),
      report(notice("com.b", "Forbidden", since: 10)),
    ])
    #expect(routes.map(\.notice) == [notice("com.b", "Forbidden", since: 10), notice("com.a", "Forbidden", since: 15)])
    #expect(routes.map(\.workers) == [2, 1])
    #expect(routes.map(\.fix) == [PushReason.of("Forbidden").fix, PushReason.of("Forbidden").fix])
  }

  @Test func `a route that is refused for two reasons has two fixes, so it is listed twice`() {
    let routes = FleetRoute.paused([
      report(notice("com.a", "Forbidden", since: 1), notice("com.a", "TopicDisallowed", since: 2))
    ])
    #expect(routes.map(\.notice.reason) == ["Forbidden", "TopicDisallowed"])
  }

  @Test func `what workers report of a slow app is added up`() {
    func slow(_ app: String, waiting: Int) -> WorkerReport {
      var report = report()
      report.slowApps = [SlowAppReport(app: app, inFlight: 1, concurrency: 2, waiting: waiting)]
      return report
    }
    let sums = SlowAppReport.sums([slow("a", waiting: 3), slow("b", waiting: 2), slow("b", waiting: 2)])
    #expect(
      sums == [
        SlowAppReport(app: "b", inFlight: 2, concurrency: 4, waiting: 4),
        SlowAppReport(app: "a", inFlight: 1, concurrency: 2, waiting: 3),
      ])
  }
}

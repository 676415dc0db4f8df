import Testing

@testable import Operations
@testable import Queue

struct FleetRouteTests {
  private func report(_ topic: String, _ reason: String, since: Int64) -> RouteReport {
    RouteReport(environment: "production", topic: topic, reason: reason, since: since)
  }

  @Test func `a route of several workers is one, with the earliest time`() {
    let routes = FleetRoute.merged([
      report("com.b", "Forbidden", since: 20), report("com.a", "Forbidden", since: 15),
      report("com.b", "Forbidden", since: 10),
    ])
    #expect(routes.map(\.report) == [report("com.b", "Forbidden", since: 10), report("com.a", "Forbidden", since: 15)])
    #expect(routes.map(\.workers) == [2, 1])
  }

  @Test func `a route that is refused for two reasons has two fixes, so it is listed twice`() {
    let routes = FleetRoute.merged([
      report("com.a", "Forbidden", since: 1), report("com.a", "TopicDisallowed", since: 2),
    ])
    #expect(routes.map(\.report.reason) == ["Forbidden", "TopicDisallowed"])
  }
}

import DashboardSupport
import PushModel
import Queue
import Testing

@testable import Dashboard

struct FleetAppTests {
  private func app(
    _ name: String, key: AppState.Key.State = .signs, gateway: AppState.Gateway.State = .connected,
    others: Bool = false
  ) -> AppState {
    var app = AppState(
      bundleIDs: [name], team: "TEAM123456", keys: [.init(id: "KEY1", state: key)],
      gateways: [.init(environment: .production, url: "https://apns.example", connections: 2, state: gateway)])
    (app.inFlight, app.removedTokens) = (3, 4)
    app.servesOthers = others
    return app
  }

  private func report(_ apps: [AppState], routes: [RouteState] = [], paused: [RouteNotice] = []) -> WorkerReport {
    var report = WorkerReport(startedAt: 1, jobs: 0, jobsPerSecond: 0, outstanding: 0, inFlight: 0, concurrency: 8)
    report.appStates = apps
    report.routes = routes
    report.pausedRoutes = paused
    return report
  }

  private func route(_ topic: String, owners: Int = 1, suspects: Int = 0) -> RouteState {
    RouteState(environment: .production, topic: topic, owners: owners, suspects: suspects)
  }

  @Test func `what the workers report of an app is added up`() throws {
    let apps = FleetApp.merged([report([app("com.a")]), report([app("com.a", gateway: .unreachable), app("com.b")])])
    #expect(apps.map(\.name) == ["com.a", "com.b"])
    let first = try #require(apps.first)
    #expect(first.workers == 2)
    #expect(first.connections == 4)
    #expect(first.inFlight == 6)
    #expect(first.removedTokens == 8)
    #expect(first.gateways.map(\.unreachable) == [1])
  }

  @Test func `a key that one worker finds refused counts as refused`() {
    let apps = FleetApp.merged([report([app("com.a")]), report([app("com.a", key: .refused)])])
    #expect(apps[0].keys.map(\.state) == [.refused])
    #expect(apps[0].keys[0].states == [.signs: 1, .refused: 1])
  }

  @Test func `a topic belongs to the app that names it, else to the app of all others`() {
    let apps = FleetApp.merged([
      report(
        [app("com.a"), app("com.demo", others: true)],
        routes: [route("com.a"), route("com.a.voip"), route("com.ab"), route("com.demo")])
    ])
    #expect(apps[0].topics.map(\.topic) == ["com.a", "com.a.voip"])
    #expect(apps[1].topics.map(\.topic) == ["com.ab", "com.demo"])
    #expect(apps[1].audiences == ["com.demo", "com.ab"])
  }

  @Test func `the guard of a topic is that of the worker that remembers most`() {
    let apps = FleetApp.merged([
      report([app("com.a")], routes: [route("com.a", owners: 5, suspects: 5)]),
      report([app("com.a")], routes: [route("com.a", owners: 90, suspects: 1)]),
    ])
    #expect(apps[0].topics == [.init(environment: .production, topic: "com.a", owners: 90, suspects: 1)])
  }

  @Test func `a paused route is listed once, since the first worker paused it`() {
    func paused(_ since: Int64) -> RouteNotice {
      RouteNotice(environment: .production, topic: "com.a", reason: "TopicDisallowed", since: since)
    }
    let apps = FleetApp.merged([
      report([app("com.a")], paused: [paused(20)]), report([app("com.a")], paused: [paused(10)]),
    ])
    #expect(apps[0].paused == [paused(10)])
  }
}

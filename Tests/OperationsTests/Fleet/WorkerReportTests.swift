import JSON
import PushModel
import Testing

@testable import Operations
@testable import Queue

struct WorkerReportTests {
  private func report() -> WorkerReport {
    WorkerReport(startedAt: 1, jobs: 2, jobsPerSecond: 1.5, outstanding: 3, inFlight: 4, concurrency: 512)
  }

  @Test func `slow apps are reported, and nothing is written without any`() {
    var report = report()
    #expect(!String(decoding: report.json(), as: UTF8.self).contains("slowApps"))
    report.slowApps = [SlowAppReport(app: "com.a", inFlight: 7, concurrency: 32, waiting: 128)]
    #expect(WorkerReport(json: report.json()) == report)
  }

  @Test func `of a list from outside only a few entries are read, and malformed ones are skipped`() {
    var report = report()
    report.slowApps = (0..<100).map { SlowAppReport(app: "\($0)", inFlight: 0, concurrency: 0, waiting: 0) }
    #expect(WorkerReport(json: report.json())?.slowApps.count == SlowAppReport.maximumListed)
    let odd = Array(#"{"startedAt":1,"slowApps":[1,{"app":2},{"app":"a","waiting":"x"}]}"#.utf8)
    #expect(WorkerReport(json: odd)?.slowApps == [SlowAppReport(app: "a", inFlight: 0, concurrency: 0, waiting: 0)])
  }

  private func app(_ name: String) -> AppState {
    var app = AppState(
      bundleIDs: [name], team: "TEAM123456",
      keys: [.init(id: "KEY1234567", state: .signs), .init(id: "KEY7654321", state: .refused)]
        + (1...6).map { .init(id: "KEY000000\($0)", state: .spare) },
      gateways: [
        .init(environment: .sandbox, url: "https://apns.example", connections: 1, state: .connected),
        .init(environment: .production, url: "https://apns.example", connections: 0, state: .unreachable),
      ])
    app.environment = .production
    (app.share, app.inFlight, app.removedTokens) = (2, 3, 4)
    return app
  }

  @Test func `apps, routes, the version and the round trip to Redis are read as they were written`() {
    var report = report()
    report.version = "1.2.3"
    report.redisMicroseconds = 450
    report.removedTokens = 9
    report.appStates = [app("com.a"), app("<b>")]
    report.routes = [RouteState(environment: .sandbox, topic: "com.a.voip", owners: 100, suspects: 40)]
    report.connectionEnd = ConnectionEndNotice(reason: "Shutdown", gateway: "https://apns.example", at: 7)
    #expect(WorkerReport(json: report.json()) == report)
  }

  @Test func `a report has at most 8 KiB, and keeps its numbers`() throws {
    var report = report()
    report.appStates = (0..<20).map { app(String(repeating: "a", count: 200) + "\($0)") }
    report.routes = (0..<20).map {
      RouteState(
        environment: .production, topic: String(repeating: "\u{1}", count: 255) + "\($0)", owners: 1, suspects: 0)
    }
    let json = report.json()
    #expect(json.count <= WorkerReport.maximumBytes)
    let read = try #require(WorkerReport(json: json))
    #expect(read.concurrency == 512)
    #expect(read.appStates.first == report.appStates.first)
    #expect(!read.routes.isEmpty)
  }

  @Test func `what is malformed in an app or a route is skipped`() {
    let odd = Array(
      #"""
      {"startedAt":1,"appStates":[{"app":"a","bundleIds":["a"],"keys":[{"id":"K","state":"odd"},7],"gateways":{}},{}],
      "pausedRoutes":[{"environment":"moon","topic":"a","reason":"b","since":1}]}
      """#.utf8)
    let read = WorkerReport(json: odd)
    #expect(read?.appStates.map(\.name) == ["a"])
    #expect(read?.appStates.first?.keys == [])
    #expect(read?.pausedRoutes == [])
  }
}

struct AppsReportTests {
  private func report(_ apps: AppsReport?) -> WorkerReport? {
    var report = WorkerReport(
      startedAt: 1, jobs: 2, jobsPerSecond: 1.5, outstanding: 3, inFlight: 4, concurrency: 512)
    report.apps = apps
    return WorkerReport(json: report.json())
  }

  @Test func `the apps of a worker are read as they were written`() {
    for isComplete in [true, false] {
      let apps = AppsReport(
        bundleIDs: ["com.a", "com.b"], isComplete: isComplete, servesOthers: isComplete, defaultApp: "com.a",
        defaultEnvironment: "sandbox")
      #expect(report(apps)?.apps == apps)
    }
    #expect(report(nil)?.apps == nil)
  }

  @Test func `an app that is not listed is served by no worker, unless others are or the list is cut`() {
    var apps = AppsReport(
      bundleIDs: ["com.a"], servesOthers: false, defaultApp: nil, defaultEnvironment: "production")
    #expect(apps.serves("com.a") == true)
    #expect(apps.serves("com.b") == false)
    apps.isComplete = false
    #expect(apps.serves("com.b") == nil)
    apps.servesOthers = true
    #expect(apps.serves("com.b") == true)
    #expect(!apps.isPollingOnly)
    apps = AppsReport(bundleIDs: [], servesOthers: false, defaultApp: nil, defaultEnvironment: "production")
    #expect(apps.isPollingOnly)
  }
}

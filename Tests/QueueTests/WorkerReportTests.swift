import JSON
import Testing

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

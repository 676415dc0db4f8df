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

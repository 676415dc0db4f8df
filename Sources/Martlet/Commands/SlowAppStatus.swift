import JSON
import Queue

/// The apps that APNs answers slowly, each once for the whole fleet.
struct SlowAppStatus {
  private(set) var apps: [SlowAppReport]

  /// Adds up what the workers report. The app with the most jobs in memory is first.
  init(_ workers: [WorkerReport]) {
    var sums: [String: SlowAppReport] = [:]
    for report in workers.flatMap(\.slowApps) {
      var sum = sums[report.app] ?? SlowAppReport(app: report.app, inFlight: 0, concurrency: 0, waiting: 0)
      sum.inFlight += report.inFlight
      sum.concurrency += report.concurrency
      sum.waiting += report.waiting
      sums[report.app] = sum
    }
    apps = sums.values.sorted { ($1.waiting, $0.app) < ($0.waiting, $1.app) }
  }

  /// A table; empty without slow apps.
  var text: String {
    guard !apps.isEmpty else { return "" }
    let rows = apps.map { [$0.app, "\($0.inFlight)/\($0.concurrency)", "\($0.waiting)"] }
    return "\nslow apps: APNs answers late; fewer pushes are in flight, and further jobs are retried later\n"
      + Console.table(["app", "pushes in flight", "waiting in memory"], rows)
  }
}

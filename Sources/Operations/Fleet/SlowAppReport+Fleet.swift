public import Queue

extension SlowAppReport {
  /// Adds up what the workers report. The app with the most jobs in memory is first.
  public static func sums(_ workers: some Sequence<WorkerReport>) -> [SlowAppReport] {
    var sums: [String: SlowAppReport] = [:]
    for report in workers.flatMap(\.slowApps) {
      var sum = sums[report.app] ?? SlowAppReport(app: report.app, inFlight: 0, concurrency: 0, waiting: 0)
      sum.inFlight += report.inFlight
      sum.concurrency += report.concurrency
      sum.waiting += report.waiting
      sums[report.app] = sum
    }
    return sums.values.sorted { ($1.waiting, $0.app) < ($0.waiting, $1.app) }
  }
}

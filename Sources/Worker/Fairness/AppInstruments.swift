import EventLoop
import Telemetry

/// The metrics of the apps: one sample for each configured app, and one for all others together.
@EventLoop
enum AppInstruments {
  static func register(in metrics: Metrics, _ window: SendWindow) {
    metrics.gauge(
      "martlet_app_pushes_in_flight", labels: ["app"],
      help: """
        pushes in flight by [app](operations.md#several-apps): configured apps, and `other` for the rest together; \
        apps that had pushes lately
        """,
      worry: "one app has most of them for minutes"
    ) { [weak window] in window.sums { $0.app.inFlight } }
    metrics.gauge(
      "martlet_app_concurrency_limit", labels: ["app"],
      help: """
        pushes that the app may have in flight: `MARTLET_CONCURRENCY`, fewer while APNs is slow for it; of `other` the \
        sum of its apps
        """,
      worry: "it falls: APNs is slow for the app"
    ) { [weak window] in window.sums { $0.app.limit } }
    metrics.gauge(
      "martlet_app_jobs_waiting", labels: ["app"],
      help: "jobs that wait in the worker's memory for their app's share",
      worry: "it stays above 100: the app has more jobs than it may send"
    ) { [weak window] in window.sums { $0.app.waitingJobs } }
  }
}

extension SendWindow? {
  /// The sum of `value` for each label of an app.
  @EventLoop
  fileprivate func sums(_ value: (AppLane) -> Int) -> [([String], Double)] {
    guard let lanes = self?.lanes else { return [] }
    var sums: [String: Int] = [:]
    for lane in lanes.all { sums[lanes.label(of: lane), default: 0] += value(lane) }
    return sums.sorted { $0.key < $1.key }.map { ([$0.key], Double($0.value)) }
  }
}

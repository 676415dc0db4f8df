import EventLoop
import Telemetry

/// The metrics of the apps: one sample for each configured app, and one for all others together.
@EventLoop
enum AppInstruments {
  static func register(in metrics: Metrics, _ window: SendWindow) {
    add("martlet_app_pushes_in_flight", "Pushes in flight by app.", metrics, window) { $0.app.inFlight }
    add("martlet_app_jobs_waiting", "Jobs that wait in memory for their app's share.", metrics, window) {
      $0.app.waitingJobs
    }
    let help = "Pushes that an app may have in flight; fewer while APNs is slow for it."
    add("martlet_app_concurrency_limit", help, metrics, window) { $0.app.limit }
  }

  private static func add(
    _ name: String, _ help: String, _ metrics: Metrics, _ window: SendWindow,
    value: @escaping @EventLoop (AppLane) -> Int
  ) {
    metrics.gauge(name, labels: ["app"], help: help) { [weak window] in
      guard let lanes = window?.lanes else { return [] }
      var sums: [String: Int] = [:]
      for lane in lanes.all { sums[lanes.label(of: lane), default: 0] += value(lane) }
      return sums.sorted { $0.key < $1.key }.map { ([$0.key], Double($0.value)) }
    }
  }
}

import EventLoop
import HTTPServer
import Telemetry

/// What the dashboard counts.
@EventLoop
struct DashboardMetrics {
  private static let methods: Set<String> = ["GET", "HEAD", "POST"]

  private let requests: LabelledCounterFamily
  private let durations: Histogram

  init(_ metrics: Metrics) {
    requests = metrics.counters(
      "martlet_dashboard_requests_total", labels: ["method", "route", "status"],
      help: "Answered requests for pages of the dashboard.")
    durations = metrics.histogram(
      "martlet_dashboard_request_seconds", help: "Time from a complete request for a page to its answer.")
  }

  func count(_ request: HTTPRequest, route: String, status: Int, since start: UInt64) {
    let method = DashboardMetrics.methods.contains(request.method) ? request.method : "OTHER"
    requests[method, route, String(status)].increment()
    durations.record(nanoseconds: Clock.monotonicNanoseconds - start)
  }
}

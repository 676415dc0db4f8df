import PushModel
import Queue
import APNs
import EventLoop
import JSON
import Jobs

/// A worker's account of itself, kept as the value of its heartbeat.
@EventLoop
final class WorkerReporter {
  private let queue: JobQueue
  private let permits: Permits
  private let metrics: PipelineMetrics
  private let client: APNsClient?
  private let startedAt = Clock.unixMilliseconds
  private var lastCount: UInt64 = 0
  private var lastAt = Clock.monotonicNanoseconds
  private var rate = 0.0

  /// A rate is measured over at least this long.
  private static let window = 1_000_000_000 as UInt64

  init(queue: JobQueue, permits: Permits, metrics: PipelineMetrics, client: APNsClient?) {
    self.queue = queue
    self.permits = permits
    self.metrics = metrics
    self.client = client
  }

  /// `{"startedAt","jobs","jobsPerSecond","outstanding","inFlight","concurrency"}`, and with trouble `"pausedRoutes"` and
  /// `"stoppedRemovals"`.
  func json() -> [UInt8] {
    let now = Clock.monotonicNanoseconds
    if now - lastAt >= WorkerReporter.window {
      rate = Double(metrics.jobCount - lastCount) * 1e9 / Double(now - lastAt)
      lastCount = metrics.jobCount
      lastAt = now
    }
    var report = WorkerReport(
      startedAt: startedAt, jobs: Int64(metrics.jobCount), jobsPerSecond: rate, outstanding: queue.outstanding,
      inFlight: permits.taken, concurrency: permits.limit)
    report.pausedRoutes = (client?.pausedRoutes ?? []).map(RouteReport.init)
    report.stoppedRemovals = (client?.stoppedRemovals ?? []).map(RouteReport.init)
    return report.json()
  }
}

extension RouteReport {
  init(_ notice: RouteNotice) {
    self.init(
      environment: notice.environment.rawValue, topic: notice.topic, reason: notice.reason, since: notice.since)
  }
}

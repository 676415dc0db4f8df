import EventLoop
import Jobs
import Telemetry

/// What the line counts.
@EventLoop
final class LineMetrics {
  let jobs: CounterFamily
  private let queueTime: Histogram
  private let jobTime: Histogram
  private(set) var jobCount: UInt64 = 0

  init(_ metrics: Metrics) {
    jobs = metrics.counters("martlet_jobs_total", label: "status", help: "Attempts at jobs, by how they ended.")
    queueTime = metrics.histogram(
      "martlet_queue_latency_seconds", help: "From the claim of a job to handing over its pushes.")
    jobTime = metrics.histogram("martlet_job_seconds", help: "From the claim of a job to its settlement.")
  }

  func submitted(_ claim: Claim) {
    queueTime.record(nanoseconds: Clock.monotonicNanoseconds &- claim.claimedMonotonic)
  }

  func finished(_ claim: Claim) {
    jobCount += 1
    jobTime.record(nanoseconds: Clock.monotonicNanoseconds &- claim.claimedMonotonic)
  }
}

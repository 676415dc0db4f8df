import EventLoop
import Jobs
import Queue
import Telemetry

/// The metrics of the pipeline.
@EventLoop
final class PipelineMetrics {
  /// In the order of the statuses.
  private let jobs: [Counter]
  private let postponements: CounterFamily
  private let queueLatency: Histogram
  private let jobTime: Histogram
  private(set) var jobCount: UInt64 = 0

  init(_ metrics: Metrics) {
    let family = metrics.counters(
      "martlet_jobs_total", label: "status",
      help: "attempts at jobs, by the [status](jobs.md#records) in which they ended",
      worry: "`failed`, `dead` or `retrying` grow faster than usual")
    jobs = JobStatus.allCases.map { family[$0.rawValue] }
    postponements = metrics.counters(
      "martlet_jobs_put_off_total", label: "app",
      help: """
        jobs that went back to Redis for a while, because APNs is slow for their app; each also counts as \
        `retrying`
        """,
      worry: "it grows: see `martlet status`")
    queueLatency = metrics.histogram(
      "martlet_queue_latency_seconds",
      help: "[time that jobs waited](#depth-and-latency) in their queue, for jobs with `enqueuedAt`",
      worry: "it is longer than your users may wait: add workers",
      bounds: Histogram.waitBounds)
    jobTime = metrics.histogram(
      "martlet_job_seconds",
      help: "time from the claim of a job to the outcome of the attempt",
      worry: "it grows: compare it with `martlet_apns_push_seconds`")
  }

  /// Records how long the job waited in its queue, if its producer set `enqueuedAt` and this is its first attempt.
  func began(_ delivery: Delivery) {
    let claimedAt = delivery.claim.claimedAt
    guard delivery.isFirstAttempt, let since = delivery.job.waitingSince(now: claimedAt) else { return }
    // The producer's clock may be ahead.
    let milliseconds = max(0, claimedAt - since)
    queueLatency.record(nanoseconds: UInt64(milliseconds) * 1_000_000)
  }

  func postpone(ofApp app: String) { postponements[app].increment() }

  /// A job was buried without having been claimed.
  func refused() { count(.dead) }

  func finished(_ claim: Claim, _ status: JobStatus) {
    count(status)
    jobTime.record(nanoseconds: Clock.monotonicNanoseconds &- claim.claimedMonotonic)
  }

  private func count(_ status: JobStatus) {
    jobCount += 1
    if let place = JobStatus.allCases.firstIndex(of: status) { jobs[place].increment() }
  }
}

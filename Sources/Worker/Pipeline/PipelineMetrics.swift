import Queue
import Policy
import EventLoop
import Jobs
import Telemetry

/// What the line counts.
@EventLoop
final class PipelineMetrics {
  private let jobs: [JobStatus: Counter]
  private let decisions: CounterFamily
  private let queueTime: Histogram
  private let jobTime: Histogram
  private(set) var jobCount: UInt64 = 0

  init(_ metrics: Metrics) {
    let family = metrics.counters("martlet_jobs_total", label: "status", help: "Attempts at jobs, by how they ended.")
    jobs = Dictionary(uniqueKeysWithValues: JobStatus.allCases.map { ($0, family[$0.rawValue]) })
    decisions = metrics.counters(
      "martlet_policy_decisions_total", label: "decision", help: "What delivery policies said of jobs with a class.")
    queueTime = metrics.histogram(
      "martlet_queue_latency_seconds", help: "From the claim of a job to handing over its pushes.")
    jobTime = metrics.histogram("martlet_job_seconds", help: "From the claim of a job to its settlement.")
  }

  func submitted(_ claim: Claim) {
    queueTime.record(nanoseconds: Clock.monotonicNanoseconds &- claim.claimedMonotonic)
  }

  func decided(_ decision: PolicyDecision) {
    switch decision {
    case .send: decisions["send"].increment()
    case .deferUntil: decisions["deferred"].increment()
    case .suppress(let reason): decisions[reason.rawValue].increment()
    }
  }

  /// A job that was never claimed.
  func refused() {
    jobCount += 1
    jobs[.dead]?.increment()
  }

  func finished(_ claim: Claim, _ status: JobStatus) {
    jobCount += 1
    jobs[status]?.increment()
    jobTime.record(nanoseconds: Clock.monotonicNanoseconds &- claim.claimedMonotonic)
  }
}

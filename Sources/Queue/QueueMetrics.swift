public import EventLoop
public import Telemetry

/// The counters of a ``JobQueue``.
@EventLoop
public final class QueueMetrics {
  let claimed: Counter
  let fenced: Counter
  let ghostClaims: Counter
  let retries: Counter
  let reaped: Counter
  let reapedWorkers: CounterFamily
  let buried: Counter
  let droppedLetters: Counter
  let keptRecords: Counter
  let promoted: Counter

  public init(_ metrics: Metrics) {
    claimed = metrics.counter("martlet_jobs_claimed_total", help: "Jobs taken from the queues.")
    fenced = metrics.counter(
      "martlet_jobs_fenced_total", help: "Claims lost because the fleet took this worker for dead.")
    ghostClaims = metrics.counter(
      "martlet_ghost_claims_total", help: "Jobs found in the in-flight list whose claim was never answered.")
    retries = metrics.counter("martlet_retries_total", help: "Jobs that were retried.")
    reaped = metrics.counter(
      "martlet_jobs_reaped_total", help: "Jobs of dead workers that were moved back to their queue.")
    reapedWorkers = metrics.counters(
      "martlet_workers_reaped_total", label: "queue",
      help: "Dead workers that this worker has found, for each queue that they served.")
    buried = metrics.counter("martlet_dead_letters_total", help: "Jobs moved to the dead letters.")
    droppedLetters = metrics.counter(
      "martlet_dead_letters_dropped_total", help: "Dead letters deleted because there were too many.")
    keptRecords = metrics.counter(
      "martlet_records_kept_total", help: "Records not written because another job has the same id.")
    promoted = metrics.counter(
      "martlet_jobs_promoted_total", help: "Scheduled and retried jobs that were due and were moved to their queue.")
  }
}

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
    claimed = metrics.counter(
      "martlet_jobs_claimed_total",
      help: "jobs claimed from the queues",
      worry: "it stops growing while jobs are waiting")
    fenced = metrics.counter(
      "martlet_jobs_fenced_total",
      help: "jobs that this worker lost because the fleet took it for dead",
      worry: "it grows: the worker was frozen or cut off from Redis")
    ghostClaims = metrics.counter(
      "martlet_ghost_claims_total",
      help: "jobs found in this worker's in-flight list without an answer to their claim",
      worry: "it grows steadily: connections to Redis break")
    retries = metrics.counter(
      "martlet_retries_total",
      help: "jobs scheduled to run again after a failed attempt",
      worry: "it grows steadily: see the reasons in the records")
    reaped = metrics.counter(
      "martlet_jobs_reaped_total",
      help: "jobs of dead workers that were moved back to their queue",
      worry: "it grows: a worker died")
    reapedWorkers = metrics.counters(
      "martlet_workers_reaped_total", label: "queue",
      help: "dead workers that this worker has found, for each queue that they served",
      worry: "it grows: a worker died")
    buried = metrics.counter(
      "martlet_dead_letters_total",
      help: "jobs moved to the dead letters",
      worry: "it grows: `martlet dead list`")
    droppedLetters = metrics.counter(
      "martlet_dead_letters_dropped_total",
      help: "dead letters deleted because a queue had more than 100,000",
      worry: "it is above 0")
    keptRecords = metrics.counter(
      "martlet_records_kept_total",
      help: "records not written because another job has the same id",
      worry: "it is above 0: two producers use one id")
    promoted = metrics.counter(
      "martlet_jobs_promoted_total",
      help: "scheduled and retried jobs moved to their queue because they were due",
      worry: "it stops growing while `retry` or `scheduled` jobs are overdue")
  }
}

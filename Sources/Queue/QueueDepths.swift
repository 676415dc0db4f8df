import EventLoop
import JSON
import Redis
import Telemetry

/// How many jobs of each queue are in each state, how long the oldest waits, and how long the fleet needs for all: the gauges
/// `martlet_queue_jobs`, `martlet_queue_oldest_seconds` and `martlet_queue_drain_seconds`.
///
/// Every worker asks Redis every few seconds, so that a scrape never waits for it. There are no samples while Redis
/// cannot be reached.
@EventLoop
final class QueueDepths {
  private static let interval = Duration.seconds(5)
  /// Older numbers are not shown.
  private static let maximumAge = Duration.seconds(15)

  private let queues: [QueueKeys]
  private let connection: RedisClient
  private let clock: RedisClock
  private let oldest: [OldestJob]
  /// Nil while it is unknown.
  private var read: (queues: [QueueNumbers], workers: [WorkerReport], at: UInt64)?
  private var isReading = false
  private var timer: LoopTimer?

  init(
    queues: [QueueKeys], connection: RedisClient, waitingSince: @escaping WaitingSince, metrics: Metrics
  ) {
    self.queues = queues
    self.connection = connection
    clock = RedisClock(connection: connection, metrics: metrics)
    oldest = queues.map { OldestJob(keys: $0, connection: connection, waitingSince: waitingSince) }
    metrics.gauge(
      "martlet_queue_jobs", labels: ["queue", "state"],
      help: "[jobs of the whole fleet](#depth-and-latency), by queue and state",
      worry: "`waiting` keeps growing; any `dead`"
    ) {
      [weak self] in self?.samples ?? []
    }
    metrics.gauge(
      "martlet_queue_drain_seconds",
      help: """
        [time to empty](#depth-and-latency) the queues of this worker: (waiting + in flight) / present rate of \
        the fleet, at most 3600
        """,
      worry: "over 60 and growing"
    ) { [weak self] in self?.drainSeconds }
    metrics.gauge(
      "martlet_queue_oldest_seconds", labels: ["queue"],
      help: """
        [age of the oldest job](#depth-and-latency) that waits; 0 if none waits, no sample if the job does not \
        tell
        """,
      worry: "it is longer than your users may wait"
    ) { [weak self] in self?.ages ?? [] }
  }

  /// Reads every few seconds until ``stop()``.
  func start() {
    timer = .every(QueueDepths.interval) { [weak self] in self?.refresh() }
  }

  /// Reads now, if Redis can be reached.
  func refresh() {
    guard connection.isReady, !isReading else { return }
    isReading = true
    let now = Clock.monotonicNanoseconds
    clock.read()
    for job in oldest { job.read() }
    EventLoop.start { [weak self, queues, connection] in
      let found = try? await QueueNumbers.read(queues, from: connection)
      self?.isReading = false
      // Without every number there is no sample.
      guard let found else { return }
      let reports = found.reports.values.compactMap { try? JSONValue(parsing: $0) }
      self?.read = (found.queues, reports.compactMap(WorkerReport.init(numbers:)), now)
    }
  }

  func stop() {
    timer = nil
    read = nil
  }

  /// Nil while the numbers are unknown or too old to show.
  private var known: (queues: [QueueNumbers], workers: [WorkerReport], at: UInt64)? {
    guard let read, connection.isReady,
      Clock.monotonicNanoseconds - read.at <= UInt64(QueueDepths.maximumAge.nanoseconds)
    else { return nil }
    return read
  }

  private var samples: [([String], Double)] {
    (known?.queues ?? []).flatMap { numbers in
      [
        ("waiting", numbers.waiting), ("in_flight", numbers.inFlight), ("retry", numbers.retry),
        ("scheduled", numbers.scheduled), ("dead", numbers.dead),
      ].map { state, jobs in ([numbers.keys.queue, state], Double(jobs)) }
    }
  }

  private var ages: [([String], Double)] {
    zip(oldest, known?.queues ?? []).compactMap { job, numbers in
      (numbers.waiting == 0 ? 0 : job.age).map { ([numbers.keys.queue], $0) }
    }
  }

  private var drainSeconds: Double? {
    guard let known else { return nil }
    let jobs = known.queues.reduce(0) { $0 + $1.waiting + $1.inFlight }
    return DrainTime.seconds(jobs: jobs, rates: known.workers.map(DrainTime.rate))
  }
}

import EventLoop
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

  private let queues: [String]
  private let connection: RedisClient
  private let clock: RedisClock
  private let oldest: [OldestJob]
  /// Nil while it is unknown.
  private var read: (overviews: [QueueOverview], at: UInt64)?
  private var isReading = false
  private var timer: LoopTimer?

  init(
    queues: [QueueKeys], connection: RedisClient, waitingSince: @escaping WaitingSince, metrics: Metrics
  ) {
    self.queues = queues.map(\.queue)
    self.connection = connection
    clock = RedisClock(connection: connection, metrics: metrics)
    oldest = queues.map { OldestJob(keys: $0, connection: connection, waitingSince: waitingSince) }
    metrics.gauge("martlet_queue_jobs", labels: ["queue", "state"], help: "Jobs of the fleet by queue and state.") {
      [weak self] in self?.samples ?? []
    }
    metrics.gauge(
      "martlet_queue_drain_seconds", labels: [],
      help: "Time in which the fleet ends the jobs that wait or are in flight, at its present rate."
    ) { [weak self] in self?.drainSeconds.map { [([], $0)] } ?? [] }
    metrics.gauge(
      "martlet_queue_oldest_seconds", labels: ["queue"],
      help: "Age of the oldest waiting job; 0 if none waits, no sample if the job does not tell."
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
    Task { @EventLoop [weak self, queues, connection] in
      let overviews = try? await QueueOverview.read(queues, from: connection)
      self?.isReading = false
      // Without every number there is no sample.
      if let overviews { self?.read = (overviews, now) }
    }
  }

  func stop() {
    timer = nil
    read = nil
  }

  /// Empty while the numbers are unknown or too old to show.
  private var overviews: [QueueOverview] {
    guard let read, connection.isReady,
      Clock.monotonicNanoseconds - read.at <= UInt64(QueueDepths.maximumAge.nanoseconds)
    else { return [] }
    return read.overviews
  }

  private var samples: [([String], Double)] {
    overviews.flatMap { overview in
      [
        ("waiting", overview.waiting), ("in_flight", overview.inFlight), ("retry", overview.retry),
        ("scheduled", overview.scheduled), ("dead", overview.dead),
      ].map { state, jobs in ([overview.queue, state], Double(jobs)) }
    }
  }

  private var ages: [([String], Double)] {
    zip(oldest, overviews).compactMap { job, overview in
      (overview.waiting == 0 ? 0 : job.age).map { ([overview.queue], $0) }
    }
  }

  /// Nil unless the numbers of every queue are known.
  private var drainSeconds: Double? {
    let overviews = overviews
    guard !overviews.isEmpty else { return nil }
    let jobs = overviews.reduce(0) { $0 + $1.waiting + $1.inFlight }
    return DrainTime.seconds(jobs: jobs, rates: overviews.workers.values.map(DrainTime.rate))
  }
}

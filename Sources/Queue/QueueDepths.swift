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
  private struct Depth {
    let waiting: Int64
    let retry: Int64
    let scheduled: Int64
    let dead: Int64
    /// In the in-flight lists of all workers, alive or not.
    let inFlight: Int64
    /// By the name of a live worker, the jobs that it ends in a second.
    let rates: [String: Double]
    /// On the monotonic clock, in nanoseconds.
    let readAt: UInt64

    /// `lengths` are those of the queue's own four, then of each in-flight list.
    init(lengths: [Int64], rates: [String: Double], readAt: UInt64) {
      (waiting, retry, scheduled, dead) = (lengths[0], lengths[1], lengths[2], lengths[3])
      inFlight = lengths[4...].reduce(0, +)
      self.rates = rates
      self.readAt = readAt
    }

    var byState: [(state: String, jobs: Int64)] {
      [
        ("waiting", waiting), ("in_flight", inFlight), ("retry", retry), ("scheduled", scheduled), ("dead", dead),
      ]
    }
  }

  private static let interval = Duration.seconds(5)
  /// Older numbers are not shown.
  private static let maximumAge = Duration.seconds(15)

  private let queues: [QueueKeys]
  private let connection: RedisClient
  private let clock: RedisClock
  private let oldest: [OldestJob]
  private var depths: [Depth?]
  private var timer: LoopTimer?

  init(
    queues: [QueueKeys], connection: RedisClient, waitingSince: @escaping WaitingSince, metrics: Metrics
  ) {
    self.queues = queues
    self.connection = connection
    clock = RedisClock(connection: connection, metrics: metrics)
    oldest = queues.map { OldestJob(keys: $0, connection: connection, waitingSince: waitingSince) }
    depths = queues.map { _ in nil }
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
    guard connection.isReady else { return }
    clock.read()
    for index in queues.indices { readWorkers(index) }
  }

  func stop() {
    timer = nil
    depths = queues.map { _ in nil }
  }

  /// The depth of each queue; nil where it is unknown or too old to show.
  private var presentDepths: [Depth?] {
    let now = Clock.monotonicNanoseconds
    return depths.map { depth in
      guard let depth, connection.isReady, now - depth.readAt <= UInt64(QueueDepths.maximumAge.nanoseconds) else {
        return nil
      }
      return depth
    }
  }

  private var samples: [([String], Double)] {
    var samples: [([String], Double)] = []
    for (keys, depth) in zip(queues, presentDepths) {
      guard let depth else { continue }
      for (state, jobs) in depth.byState { samples.append(([keys.queue, state], Double(jobs))) }
    }
    return samples
  }

  private var ages: [([String], Double)] {
    zip(oldest, zip(queues, presentDepths)).compactMap { job, queue in
      let (keys, depth) = queue
      guard let depth else { return nil }
      return (depth.waiting == 0 ? 0 : job.age).map { ([keys.queue], $0) }
    }
  }

  /// Nil unless the numbers of every queue are known.
  private var drainSeconds: Double? {
    var jobs: Int64 = 0
    var rates: [String: Double] = [:]
    for depth in presentDepths {
      guard let depth else { return nil }
      jobs += depth.waiting + depth.inFlight
      // A worker that serves several queues reports one rate for all of them.
      rates.merge(depth.rates) { max($0, $1) }
    }
    return DrainTime.seconds(jobs: jobs, rates: rates.values)
  }

  private func readWorkers(_ index: Int) {
    connection.send(queues[index].namesOfWorkers) { [weak self] result in
      guard let self, case .success(let members) = result else { return }
      self.readLengths(index, workers: (members.array ?? []).compactMap(\.string))
    }
  }

  /// One exchange for all lists.
  private func readLengths(_ index: Int, workers: [String]) {
    let keys = queues[index]
    let commands =
      [
        RedisCommand("LLEN", keys.queue), RedisCommand("ZCARD", keys.retry), RedisCommand("ZCARD", keys.scheduled),
        RedisCommand("ZCARD", keys.dead),
      ] + workers.map { RedisCommand("LLEN", keys.inflight($0)) }
    let sentAt = Clock.monotonicNanoseconds
    oldest[index].read()
    var rates: [String: Double] = [:]
    for worker in workers {
      connection.send(RedisCommand("GET", keys.heartbeat(worker))) { result in
        guard case .success(let value) = result, let report = value.bytes.flatMap(WorkerReport.init(json:)) else {
          return
        }
        rates[worker] = DrainTime.rate(report)
      }
    }
    // Their replies come after those above.
    var lengths: [Int64] = []
    for command in commands {
      connection.send(command) { [weak self] result in
        switch result {
        case .success(let value):
          // Without a number there is no sample.
          guard let length = value.count else { return }
          lengths.append(Int64(length))
        // Another program's key.
        case .failure(.reply(let error)) where error.code == "WRONGTYPE": lengths.append(0)
        case .failure: return
        }
        guard lengths.count == commands.count else { return }
        self?.depths[index] = Depth(lengths: lengths, rates: rates, readAt: sentAt)
      }
    }
  }
}

import EventLoop
import Redis
import Telemetry

/// How many jobs of each queue are in each state, for the whole fleet: the gauge `martlet_queue_jobs`.
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
    /// On the monotonic clock, in nanoseconds.
    let readAt: UInt64

    /// `lengths` are those of the queue's own four, then of each in-flight list.
    init(lengths: [Int64], readAt: UInt64) {
      (waiting, retry, scheduled, dead) = (lengths[0], lengths[1], lengths[2], lengths[3])
      inFlight = lengths[4...].reduce(0, +)
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
  private let connection: RedisConnection
  private var depths: [Depth?]
  private var timer: LoopTimer?

  init(queues: [QueueKeys], connection: RedisConnection, metrics: Metrics) {
    self.queues = queues
    self.connection = connection
    depths = queues.map { _ in nil }
    metrics.gauge("martlet_queue_jobs", labels: ["queue", "state"], help: "Jobs of the fleet by queue and state.") {
      [weak self] in self?.samples ?? []
    }
  }

  /// Reads every few seconds until ``stop()``.
  func start() {
    timer = .every(QueueDepths.interval) { [weak self] in self?.refresh() }
  }

  /// Reads now, if Redis can be reached.
  func refresh() {
    guard connection.isReady else { return }
    for index in queues.indices { readWorkers(index) }
  }

  func stop() {
    timer = nil
    depths = queues.map { _ in nil }
  }

  private var samples: [([String], Double)] {
    guard connection.isReady else { return [] }
    let now = Clock.monotonicNanoseconds
    var samples: [([String], Double)] = []
    for (keys, depth) in zip(queues, depths) {
      guard let depth, now - depth.readAt <= UInt64(QueueDepths.maximumAge.nanoseconds) else { continue }
      for (state, jobs) in depth.byState { samples.append(([keys.queue, state], Double(jobs))) }
    }
    return samples
  }

  private func readWorkers(_ index: Int) {
    connection.send(RedisCommand("SMEMBERS", queues[index].workers)) { [weak self] result in
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
    var lengths: [Int64] = []
    for command in commands {
      connection.send(command) { [weak self] result in
        switch result {
        case .success(let value): lengths.append(value.integer ?? 0)
        // Another program's key.
        case .failure(.reply(let error)) where error.code == "WRONGTYPE": lengths.append(0)
        case .failure: return
        }
        guard lengths.count == commands.count else { return }
        self?.depths[index] = Depth(lengths: lengths, readAt: sentAt)
      }
    }
  }
}

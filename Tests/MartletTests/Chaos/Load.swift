import EventLoop
import FleetSupport
import Redis
import TestSupport

/// Enqueues jobs continuously until it is stopped, also while Redis or the gateway fails.
actor Load {
  /// The replies to the enqueued jobs.
  struct Account: Sendable {
    /// Redis confirmed these jobs.
    var enqueued: [LoadJob] = []
    /// Redis did not reply: these jobs may be in the queue.
    var unknown: [LoadJob] = []
    /// Redis refused these jobs.
    var refused = 0
  }

  private static let pause = Duration.milliseconds(20)
  private static let batchesPerSecond = 50
  private let fleet: Fleet
  private let queue: String
  private let prefix: String
  private let batch: Int
  private var account = Account()
  private var next = 0
  private var isStopping = false
  private var isPaused = false
  private var isEnqueuing = false
  private var task: Task<Void, Never>?

  init(_ fleet: Fleet, on queue: String, perSecond: Int) {
    self.fleet = fleet
    self.queue = queue
    prefix = fleet.unique("load")
    batch = max(1, perSecond / Load.batchesPerSecond)
  }

  func start() {
    task = Task {
      while !isStopping {
        if !isPaused { await enqueue() }
        try? await Task.sleep(for: Load.pause)
      }
    }
  }

  /// The jobs that certainly were in the queue.
  var enqueued: Int { account.enqueued.count }

  /// Enqueues nothing until ``resume()``. Returns the number of jobs that certainly are in the queue, when all replies are there.
  func pause() async -> Int {
    isPaused = true
    while isEnqueuing { await Task.yield() }
    return account.enqueued.count
  }

  func resume() { isPaused = false }

  func stop() async -> Account {
    isStopping = true
    await task?.value
    return account
  }

  private func enqueue() async {
    let jobs = (next..<next + batch).map { LoadJob(prefix, $0) }
    next += batch
    isEnqueuing = true
    defer { isEnqueuing = false }
    let results = await Load.push(jobs, to: queue, through: fleet.connection)
    for (job, result) in zip(jobs, results) {
      switch result {
      case .success: account.enqueued.append(job)
      case .failure(.outcomeUnknown): account.unknown.append(job)
      case .failure: account.refused += 1
      }
    }
  }

  @EventLoop
  private static func push(
    _ jobs: [LoadJob], to queue: String, through connection: RedisClient
  ) async -> [Result<RedisValue, RedisError>] {
    await withCheckedContinuation { continuation in
      var results: [Result<RedisValue, RedisError>] = []
      for job in jobs {
        connection.send(RedisCommand("LPUSH", queue).with(job.json)) { result in
          results.append(result)
          if results.count == jobs.count { continuation.resume(returning: results) }
        }
      }
    }
  }
}

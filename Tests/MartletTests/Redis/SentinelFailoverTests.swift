import EventLoop
import FleetSupport
import Foundation
import Redis
import Testing
import TestSupport

/// The master dies without a warning while jobs arrive.
@Suite(.serialized) struct SentinelFailoverTests {
  @Test func `kill -9 of the master under load loses no job that its replica had`() async throws {
    let group = try await SentinelGroup()
    let fleet = try await Fleet(redis: group.replica, url: group.url, isForTests: true)
    // Jobs are in flight when the master dies.
    try await fleet.gateway.settings(#"{"rttMs":200}"#)
    let settings = ["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"]
    let queue = fleet.unique("failover")
    let workers = [try await fleet.worker(settings, on: queue), try await fleet.worker(settings, on: queue)]
    let producer = Producer(queue, fleet.connection)
    await producer.start()
    try await eventually("the load continues") { await producer.safe.count >= 600 }
    try await group.master.kill()
    let before = await producer.safe.count
    try await group.awaitFailover()
    await producer.noteFailover()
    try await eventually("the load continues") { await producer.safe.count >= before + 400 }
    let jobs = await producer.stop()
    let status = try await fleet.status(of: jobs, on: queue)
    print("failover after \(before) of \(jobs.count) jobs: \(status.description)")
    status.expectAllAccepted(jobs.count)
    for worker in workers {
      try await worker.ready()
      // However many attempts it took, and no refusals after it.
      worker.expectOneLineForEachOutage()
      #expect(worker.count(of: "READONLY") <= 1)
      #expect(worker.complaints.count <= 4, "\(worker.complaints)")
      #expect(try await worker.stop() == 0)
    }
    try await group.stop()
  }
}

/// Enqueues jobs all the time, and knows which of them a failover cannot lose.
private actor Producer {
  /// Jobs that one exchange enqueues and then waits for.
  private static let batch = 20
  private static let pause = Duration.milliseconds(20)
  private let queue: String
  private let connection: RedisClient
  private var next = 0
  private var hasFailedOver = false
  private var isStopping = false
  private var task: Task<Void, Never>?
  /// The replica has these, or they were enqueued when it was the master.
  private(set) var safe: [LoadJob] = []

  init(_ queue: String, _ connection: RedisClient) {
    self.queue = queue
    self.connection = connection
  }

  func start() {
    task = Task {
      while !isStopping {
        let jobs = (next..<next + Producer.batch).map { LoadJob(queue, $0) }
        next += Producer.batch
        // What is sent before the failover is known needs the word of a replica.
        let isAfter = hasFailedOver
        let (enqueued, copies) = await Producer.push(jobs, to: queue, connection)
        if isAfter { safe += enqueued } else if copies >= 1 { safe += jobs }
        try? await Task.sleep(for: Producer.pause)
      }
    }
  }

  func noteFailover() { hasFailedOver = true }

  func stop() async -> [LoadJob] {
    isStopping = true
    await task?.value
    return safe
  }

  /// Returns the jobs that Redis has confirmed, and the number of replicas that have all of them.
  @EventLoop
  private static func push(
    _ jobs: [LoadJob], to queue: String, _ connection: RedisClient
  ) async -> (enqueued: [LoadJob], copies: Int64) {
    var enqueued: [LoadJob] = []
    for job in jobs {
      connection.send(RedisCommand("LPUSH", queue).with(job.json)) { result in
        if case .success = result { enqueued.append(job) }
      }
    }
    // Its reply is behind the others.
    let reply = try? await connection.send(RedisCommand("WAIT", "1", "500"))
    return (enqueued, enqueued.count == jobs.count ? reply?.integer ?? 0 : 0)
  }
}

import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// While Redis is down, frozen, full or read-only, the worker keeps running, logs it once and then continues.
@Suite(.serialized) struct RedisTroubleTests {
  private static let quiet = ["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"]

  @Test func `a Redis that is killed and restarted with its append-only file loses nothing`() async throws {
    // With `everysec`, Redis answers before it writes while an fsync takes long.
    let fleet = try await Fleet(redisArguments: ["--appendonly", "yes", "--appendfsync", "always"])
    try await fleet.gateway.settings(#"{"rttMs":50}"#)
    let queue = fleet.unique("aof")
    let workers = [try await fleet.worker(Self.quiet, on: queue), try await fleet.worker(Self.quiet, on: queue)]
    let load = Load(fleet, on: queue, perSecond: 200)
    await load.start()
    for _ in 0..<3 {
      let goal = await load.enqueued + 200
      try await eventually("the load continues") { await load.enqueued >= goal }
      try await fleet.redis.restart()
    }
    let account = await load.stop()
    try await fleet.connection.ready(within: patience)
    let status = try await fleet.status(of: account.enqueued, on: queue)
    print("redis killed 3 times, AOF: \(status.description); \(account.unknown.count) enqueued without an answer")
    status.expectAllAccepted(account.enqueued.count)
    #expect(status.duplicates == 0)
    for worker in workers {
      worker.expectOneLineForEachOutage()
      #expect(try await worker.stop() == 0)
    }
  }

  @Test func `a Redis that restarts without data gets the jobs in flight again`() async throws {
    let fleet = try await Fleet()
    let queue = fleet.unique("wiped")
    let workers = [
      try await fleet.worker(Self.quiet, on: queue), try await fleet.worker(Self.quiet, on: queue),
      try await fleet.worker(Self.quiet, on: queue),
    ]
    // Each worker has proved its provider token, so it sends many pushes at once.
    let first = LoadJob.list("\(queue)-first", 300)
    try await fleet.enqueue(first.map(\.json), on: queue)
    try await fleet.status(of: first, on: queue).expectAllAccepted(first.count)
    // All jobs are in flight when Redis ends.
    try await fleet.gateway.settings(#"{"rttMs":15000}"#)
    let jobs = LoadJob.list(queue, 150)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await eventually("all are claimed") {
      var inflight = 0
      for worker in workers { inflight += try await worker.inflight(in: fleet) }
      return inflight == jobs.count
    }
    try await fleet.redis.restart()
    try await fleet.connection.ready(within: patience)
    try await eventually("all have ended") {
      try await fleet.redis("DBSIZE").integer ?? 0 >= jobs.count
    }
    let status = try await fleet.status(of: jobs, on: queue)
    print("redis wiped with \(jobs.count) in flight: \(status.description)")
    status.expectAllAccepted(jobs.count)
    #expect(status.duplicates == 0)
    let more = LoadJob.list("\(queue)-more", 100)
    try await fleet.enqueue(more.map(\.json), on: queue)
    try await fleet.status(of: more, on: queue).expectAllAccepted(more.count)
    for worker in workers {
      #expect(worker.count(of: "fenced") == 0)
      #expect(try await worker.stop() == 0)
    }
  }

  @Test func `a worker whose heartbeats are refused says so, is not ready, and continues when they are accepted`()
    async throws
  {
    let fleet = try await Fleet()
    let queue = fleet.unique("refused")
    let workers = QueueKeys(queue: queue).workers
    _ = try await fleet.redis("SET", workers, "not a set")
    let worker = try await fleet.worker(Self.quiet, on: queue, isReady: false)
    let line = try await worker.process.line("the warning") { $0.contains("Redis refuses a heartbeat") }
    #expect(line.contains(queue) && line.contains("WRONGTYPE"), "\(line)")
    let answer = try await worker.get("/readyz")
    #expect(answer.status == 503)
    #expect(answer.body.contains(#""redis":"heartbeats not confirmed""#), "\(answer.body)")
    let job = LoadJob.list(queue, 1)
    try await fleet.enqueue(job.map(\.json), on: queue)
    _ = try await fleet.redis("DEL", workers)
    try await fleet.status(of: job, on: queue).expectAllAccepted(1)
    try await worker.ready()
    #expect(try await worker.stop() == 0)
  }

  @Test func `workers wait for a Redis that is frozen for 20 seconds`() async throws {
    let fleet = try await Fleet()
    try await fleet.gateway.settings(#"{"rttMs":50}"#)
    let queue = fleet.unique("stopped")
    let workers = [try await fleet.worker(Self.quiet, on: queue), try await fleet.worker(Self.quiet, on: queue)]
    let load = Load(fleet, on: queue, perSecond: 200)
    await load.start()
    try await eventually("the load continues") { await load.enqueued >= 300 }
    try await fleet.redis.kill(SIGSTOP)
    try await Task.sleep(for: .seconds(20))
    for worker in workers { try await eventually("not ready") { try await worker.get("/readyz").status == 503 } }
    try await fleet.redis.kill(SIGCONT)
    try await fleet.connection.ready(within: patience)
    let goal = await load.enqueued + 200
    try await eventually("the load continues") { await load.enqueued >= goal }
    let account = await load.stop()
    let status = try await fleet.status(of: account.enqueued, on: queue)
    print("redis frozen: \(status.description); \(account.unknown.count) enqueued without an answer")
    status.expectAllAccepted(account.enqueued.count)
    #expect(status.duplicates == 0)
    for worker in workers {
      try await worker.ready()
      worker.expectOneLineForEachOutage()
      #expect(try await worker.stop() == 0)
    }
  }

  @Test func `a full Redis is drained`() async throws {
    let fleet = try await Fleet(redisArguments: ["--maxmemory-policy", "noeviction"])
    let queue = fleet.unique("full")
    // No worker has claimed these jobs yet.
    let jobs = LoadJob.list(queue, 2000)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await fleet.redis("CONFIG", "SET", "maxmemory", "1mb")
    await #expect(throws: RedisError.self) { try await fleet.redis("LPUSH", queue, "{}") }
    // The worker joins, claims, delivers and leaves while memory is full.
    let worker = try await fleet.worker(Self.quiet, on: queue)
    try await fleet.settled(queue)
    let ledger = try await fleet.gateway.ledger()
    print("redis full: \(ledger.accepted) accepted; \(worker.complaints.count) complaints")
    // A full Redis has no room for their records.
    #expect(ledger.accepted == jobs.count && ledger.duplicates == 0)
    #expect(worker.complaints.count <= 3, "\(worker.complaints)")
    try await fleet.redis("CONFIG", "SET", "maxmemory", "0")
    try await eventually("the worker knows that there is room") { worker.count(of: "Redis has more room again") == 1 }
    let more = LoadJob.list("\(queue)-more", 100)
    try await fleet.enqueue(more.map(\.json), on: queue)
    try await fleet.status(of: more, on: queue).expectAllAccepted(more.count)
    #expect(try await worker.stop() == 0)
  }

  @Test func `workers wait for a Redis that refuses writes`() async throws {
    let fleet = try await Fleet()
    try await fleet.gateway.settings(#"{"rttMs":50}"#)
    let master = try await RedisServer(tcp: true)
    let queue = fleet.unique("readonly")
    let worker = try await fleet.worker(Self.quiet, on: queue)
    let load = Load(fleet, on: queue, perSecond: 200)
    await load.start()
    try await eventually("the load continues") { await load.enqueued >= 300 }
    // A replica of a master that cannot be reached keeps its data and refuses writes.
    try await master.kill(SIGSTOP)
    try await fleet.redis("REPLICAOF", "127.0.0.1", "\(try #require(master.port))")
    try await Task.sleep(for: .seconds(8))
    try await fleet.redis.redisCLI("REPLICAOF", "NO", "ONE")
    let goal = await load.enqueued + 200
    try await eventually("the load continues") { await load.enqueued >= goal }
    let account = await load.stop()
    let status = try await fleet.status(of: account.enqueued, on: queue)
    print(
      "redis read-only: \(status.description); refused \(account.refused); \(worker.complaints.count) complaints: "
        + "\(worker.complaints)")
    status.expectAllAccepted(account.enqueued.count)
    #expect(status.duplicates == 0)
    #expect(worker.complaints.count <= 2)
    #expect(try await worker.stop() == 0)
    try await master.stop()
  }
}

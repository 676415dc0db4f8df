import EventLoop
import QueueSupport
import Redis
import RedisSupport
import TestSupport
import Testing

@testable import Operations
@testable import Queue

/// The numbers and the workers of several queues, on a real Redis.
@EventLoop
@Suite(.serialized)
struct QueueOverviewTests {
  private let redis: QueueServer
  private let queues = ["high", "jobs", "low"]

  init() async throws {
    redis = try await QueueServer()
  }

  private func serve(_ worker: String, _ queues: [String], heartbeats: [String]) async throws {
    for queue in queues { try await redis.send("SADD", QueueKeys(queue: queue).workers, worker) }
    for queue in heartbeats {
      try await redis.send("SET", QueueKeys(queue: queue).heartbeat(worker), #"{"startedAt":1,"jobsPerSecond":2.5}"#)
    }
  }

  @Test func `the heartbeat of a worker is read once for all of its queues`() async throws {
    for worker in ["a", "b"] { try await serve(worker, queues, heartbeats: queues) }
    try await redis.send("CONFIG", "RESETSTAT")
    let overviews = try await QueueOverview.read(queues, from: redis.connection)
    // One GET for each queue is that of its control string.
    let stats = try await redis.send("INFO", "commandstats").string ?? ""
    #expect(stats.contains("cmdstat_get:calls=\(queues.count + 2),"))
    #expect(overviews.map { $0.workers.keys.sorted() } == [["a", "b"], ["a", "b"], ["a", "b"]])
    #expect(overviews.workers.values.jobsPerSecond == 5)
  }

  @Test func `a worker whose heartbeat is absent in one queue lives if another queue has one`() async throws {
    try await serve("late", queues, heartbeats: ["low"])
    try await serve("dead", queues, heartbeats: [])
    try await serve("single", ["jobs"], heartbeats: ["jobs"])
    try await redis.send("SET", QueueKeys(queue: "high").heartbeat("late"), "no report")
    let overviews = try await QueueOverview.read(queues, from: redis.connection)
    #expect(overviews.map { $0.workers.keys.sorted() } == [["late"], ["late", "single"], ["late"]])
    let reports = try await QueueOverview.read(queues, from: redis.connection).workers
    #expect(reports == overviews.workers)
  }

  @Test(arguments: ["+OK", ":-1", ":9223372036854775807", "$1\r\n7"], ["LLEN", "ZCARD"])
  func `a length that is not a number is not taken for 0`(reply: String, command: String) async throws {
    let server = try FakeRedis { _, words in
      switch words[0] {
      case command: "\(reply)\r\n"
      case "LLEN", "ZCARD": ":0\r\n"
      case "SRANDMEMBER": "*0\r\n"
      case "GET": "$-1\r\n"
      default: FakeRedis.greeting(words) ?? "-ERR no\r\n"
      }
    }
    let connection = try await RedisClient.connected(to: server.url)
    let error = await #expect(throws: RedisError.self) { try await QueueOverview.read(["jobs"], from: connection) }
    #expect(error?.description.contains("the numbers of jobs cannot be read") == true)
    connection.close()
  }

  @Test func `each queue has its own numbers, and a key of another type counts as empty`() async throws {
    try await redis.send("LPUSH", "jobs", "1", "2")
    try await redis.send("LPUSH", QueueKeys(queue: "jobs").inflight("w"), "3")
    try await redis.send("SADD", QueueKeys(queue: "jobs").workers, "w")
    try await redis.send("ZADD", QueueKeys(queue: "low").dead, "1", "x")
    for key in ["high", QueueKeys(queue: "high").retry, QueueKeys(queue: "high").workers] {
      try await redis.send("SET", key, "another type")
    }
    let overviews = try await QueueOverview.read(queues, from: redis.connection)
    #expect(overviews.map(\.queue) == queues)
    #expect(overviews.map(\.waiting) == [0, 2, 0])
    #expect(overviews.map(\.inFlight) == [0, 1, 0])
    #expect(overviews.map(\.dead) == [0, 0, 1])
  }
}

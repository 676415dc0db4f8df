import EventLoop
import Telemetry
import TestSupport
import Testing

@testable import Jobs
@testable import Queue
@testable import Redis

/// No command of a queue has more words than any server accepts, however many jobs and readers there are.
@EventLoop
@Suite(.serialized)
struct RequestSizeTests {
  private let server: RedisServer
  private let connection: RedisClient
  private let keys = QueueKeys(queue: "jobs")
  private let permits = Permits(limit: 65_536)
  private let queue: JobQueue
  private let inbox = Inbox()

  @EventLoop
  private final class Inbox {
    var claims: [Claim] = []
  }

  init() async throws {
    server = try await RedisServer()
    let endpoint = try RedisEndpoint(url: server.url)
    connection = RedisClient(endpoint: endpoint, name: "martlet", timeout: patience, log: .silent)
    queue = JobQueue(
      JobQueue.Configuration(endpoint: endpoint, queues: ["jobs"], mode: .atLeastOnce), connection: connection,
      permits: permits, metrics: Metrics(), log: .silent)
    let inbox = inbox
    queue.onEvent = { event in
      if case .claimed(let claims) = event { inbox.claims += claims }
    }
    queue.start()
    try await connection.ready(within: patience)
    try await server.keepRequests()
  }

  @discardableResult
  private func send(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    try await connection.send(RedisCommand(name, words))
  }

  private func claim(_ count: Int) async throws -> [Claim] {
    for number in 0..<count { connection.send(RedisCommand("LPUSH", keys.queue, "job \(number)")) { _ in } }
    let inbox = inbox
    try await eventually("\(count) jobs are claimed") { inbox.claims.count >= count }
    return inbox.claims
  }

  private func settled() async throws {
    let queue = queue
    try await eventually("everything is settled") { queue.outstanding == 0 }
  }

  private func close() async {
    queue.stopClaiming()
    await queue.leave()
  }

  @Test func `a job to 1,000 owners leaves each a record in one request`() async throws {
    let claims = try await claim(1)
    let readers = (0..<1000).map { number in
      NotificationReader(
        name: "user \"\(number)\"", stream: "push:user:\(number):notifications",
        credentials: "martlet:{credentials}:user",
        device: "push:user:\(number):tokens")
    }
    // Two have a credential, one has a device, the others cannot read records.
    try await send("HSET", readers[0].credentials, readers[0].name, "{}", readers[700].name, "{}")
    try await send("SADD", readers[999].device, "token")
    let notifications = [
      Settlement.Notification(readers: Array(readers[..<700]), json: Array("first".utf8)),
      Settlement.Notification(readers: Array(readers[700...]), json: Array("second".utf8)),
    ]
    let record = Settlement.Record(jobID: "id", json: Array(#"{"claimedAt":1}"#.utf8), timeToLive: .seconds(60))
    queue.settle(claims[0], Settlement(.acknowledge, record: record, notifications: notifications))
    try await settled()
    for (number, expected) in [(0, "first"), (700, "second"), (999, "second")] {
      let entries = try await send("XRANGE", readers[number].stream, "-", "+").array ?? []
      #expect(entries.map { $0.array?.last?.array?.last?.string } == [expected])
    }
    #expect(try await send("KEYS", "push:user:*:notifications").array?.count == 3)
    let longest = try await server.longestRequest()
    #expect(longest > 3000 && longest < RequestLimits.maximumWords, "\(longest)")
    await close()
  }

  @Test func `5,000 jobs in hand are acknowledged, found and written again within the limit`() async throws {
    let claims = try await claim(5000)
    // A claim without an answer: in flight, and unknown to the worker. It is found by the names of all that are known.
    let inflight = keys.inflight(queue.lease.name.value)
    try await send("LPUSH", inflight, "MARTLET1 0 0 lost 0\nlost")
    let inbox = inbox
    try await eventually("the job is adopted") { inbox.claims.count == 5001 }
    // Redis loses its data: the worker writes what it holds again.
    try await send("FLUSHALL")
    let (redis, key) = (connection, inflight)
    try await eventually("the jobs are in flight again") {
      try await redis.send(RedisCommand("LLEN", key)).integer == 5001
    }
    for claim in inbox.claims { queue.settle(claim, Settlement(.acknowledge)) }
    try await settled()
    #expect(try await send("EXISTS", inflight).integer == 0)
    #expect(claims.count == 5000)
    let longest = try await server.longestRequest()
    #expect(longest > 1000 && longest < RequestLimits.maximumWords, "\(longest)")
    await close()
  }
}

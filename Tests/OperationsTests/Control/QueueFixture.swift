import EventLoop
import Redis
import RedisSupport
import Telemetry
import TestSupport

@testable import Operations
@testable import Queue

/// The queue of a worker in this process, on a real Redis. It claims, and settles only what the test settles.
@EventLoop
final class QueueFixture {
  let keys = QueueKeys(queue: "jobs")
  let server: RedisServer
  /// What the test itself asks.
  let redis: RedisClient
  let queue: JobQueue
  private(set) var claims: [Claim] = []

  init(mode: DeliveryMode = .atLeastOnce) async throws {
    server = try await RedisServer()
    let endpoint = try RedisEndpoint(url: server.url)
    redis = try await RedisClient.connected(to: server.url)
    queue = JobQueue(
      JobQueue.Configuration(endpoint: endpoint, queues: [keys.queue], mode: mode),
      connection: RedisClient(endpoint: endpoint, name: "worker", timeout: patience, log: .silent),
      permits: Permits(limit: 100),
      metrics: Metrics(), log: .silent)
    queue.onEvent = { [weak self] event in
      if case .claimed(let claims) = event { self?.claims += claims }
    }
    queue.start()
  }

  @discardableResult
  func send(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    try await redis.send(RedisCommand(name, words))
  }

  /// Enqueues a job, and waits until it is claimed.
  func claim(_ id: String) async throws -> Claim {
    let count = claims.count
    try await send("LPUSH", keys.queue, #"{"id":"\#(id)","to":{"user":"a"},"title":"x"}"#)
    try await eventually("\(id) is claimed") { self.claims.count > count }
    return claims[count]
  }

  func settle(_ claim: Claim, _ settlement: Settlement) async throws {
    queue.settle(claim, settlement)
    try await eventually("the claim has ended") { self.queue.outstanding == 0 }
  }

  /// Marks an id as operators do.
  func mark(_ id: String) async throws {
    _ = try await redis.send(
      OperationsScripts.mark(control: keys.control, cancelled: keys.cancelled, id: id, ttl: 3_600_000, most: 100))
  }

  func isMarked(_ id: String) async throws -> Bool { try await send("ZSCORE", keys.cancelled, id) != .null }

  /// Waits until the worker knows that jobs are cancelled.
  func knowsCancellations() async throws {
    try await eventually("the worker knows") { self.queue.control.has(.cancellations, queueIndex: 0) }
  }

  func stop() async {
    queue.stopClaiming()
    await queue.leave()
    redis.close()
  }
}

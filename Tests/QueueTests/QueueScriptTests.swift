import EventLoop
import QueueSupport
import Redis
import TestSupport

@testable import Queue

/// Tests of scripts on a Redis of their own, with the heartbeat of the worker `w`.
@EventLoop
protocol QueueScriptTests {
  var redis: QueueServer { get }
}

extension QueueScriptTests {
  static func server() async throws -> QueueServer {
    let redis = try await QueueServer()
    try await redis.send("SET", redis.keys.heartbeat("w"), "{}")
    return redis
  }

  var connection: RedisClient { redis.connection }
  var keys: QueueKeys { redis.keys }

  @discardableResult
  func send(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    var command = RedisCommand(name)
    for word in words { command.append(word) }
    return try await connection.send(command)
  }

  func claim(
    landed: Bool = false, by worker: String = "w", upTo count: Int = 10, mode: DeliveryMode = .atLeastOnce
  ) async throws -> ClaimAnswer? {
    let call = keys.claim(landed: landed, by: worker, upTo: count, noncePrefix: "p.", mode)
    return ClaimAnswer(try await connection.send(call), queue: keys.queue)
  }

  /// Fills the memory of Redis.
  func fill() async throws {
    try await send("SET", "filling", String(repeating: "x", count: 400_000))
    try await send("CONFIG", "SET", "maxmemory", "100kb")
  }
}

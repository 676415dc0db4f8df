package import EventLoop
package import Redis
import TestSupport

package import Queue

/// Tests of scripts on a Redis of their own, with the heartbeat of the worker `w`.
@EventLoop
package protocol QueueScriptTests {
  var redis: QueueServer { get }
}

extension QueueScriptTests {
  package static func server() async throws -> QueueServer {
    let redis = try await QueueServer()
    try await redis.send("SET", redis.keys.heartbeat("w"), "{}")
    return redis
  }

  package var connection: RedisClient { redis.connection }
  package var keys: QueueKeys { redis.keys }

  @discardableResult
  package func send(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    try await connection.send(RedisCommand(name, words))
  }

  package func claim(
    landed: Bool = false, by worker: String = "w", upTo count: Int = 10, mode: DeliveryMode = .atLeastOnce
  ) async throws -> ClaimAnswer? {
    let call = keys.claim(landed: landed, by: worker, upTo: count, noncePrefix: "p.", mode)
    return ClaimAnswer(try await connection.send(call), queue: keys.queue)
  }

  /// Fills the memory of Redis.
  package func fill() async throws {
    try await send("SET", "filling", String(repeating: "x", count: 400_000))
    try await send("CONFIG", "SET", "maxmemory", "100kb")
  }
}

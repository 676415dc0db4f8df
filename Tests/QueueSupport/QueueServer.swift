package import EventLoop
package import Queue
package import Redis
import RedisSupport
package import TestSupport

/// A Redis of its own with one queue, and what the tests put into it.
@EventLoop
package struct QueueServer {
  package let server: RedisServer
  package let connection: RedisClient
  package let keys = QueueKeys(queue: "jobs")

  package init() async throws {
    server = try await RedisServer()
    connection = try await RedisClient.connected(to: server.url)
    try await send("SET", keys.seal, "s3al")
  }

  @discardableResult
  package func send(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    try await connection.send(RedisCommand(name, words))
  }

  package func length(_ command: StaticString, _ key: String) async throws -> Int64? {
    try await connection.send(RedisCommand(command, key)).integer
  }

  package func add(_ bytes: [UInt8], to key: String, score: Int64) async throws {
    var command = RedisCommand("ZADD", key, String(score))
    command.append(bytes)
    _ = try await connection.send(command)
  }

  /// Adds a dead letter of the job `id`.
  package func bury(
    _ id: String, reason: String = "Unregistered", at: Int64, job: String? = nil, attempts: Int = 2
  ) async throws {
    let job = job ?? #"{"id":"\#(id)","to":{"user":"alice"},"title":"x"}"#
    let envelope = Envelope(crashes: 1, attempts: attempts - 1, nonce: "n.\(id)", job: Array(job.utf8))
    let letter = DeadLetter(id: id, reason: reason, at: at, attempts: attempts, envelope: envelope)
    try await add(letter.bytes, to: keys.dead, score: at)
  }
}

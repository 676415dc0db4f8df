package import EventLoop
package import Queue
package import Redis
import Telemetry
package import TestSupport

/// A Redis of its own with one queue, and what the tests put into it.
@EventLoop
package struct QueueServer {
  package let server: RedisServer
  package let connection: RedisClient
  package let keys = QueueKeys(queue: "jobs")

  package init() async throws {
    server = try await RedisServer()
    connection = RedisClient(
      endpoint: try RedisEndpoint(url: server.url), name: "martlet", timeout: patience, log: .silent)
    connection.start()
    try await connection.ready(within: patience)
    try await send("SET", keys.seal, "s3al")
  }

  @discardableResult
  package func send(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    var command = RedisCommand(name)
    for word in words { command.append(word) }
    return try await connection.send(command)
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

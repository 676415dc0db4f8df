import EventLoop
import Queue
import Redis

/// Reads the reports of the live workers.
@EventLoop
struct FleetReader {
  let connection: RedisClient

  /// Returns the reports of the workers that serve one of the queues, by name.
  func workers(of queues: [String]) async throws(RedisError) -> [String: WorkerReport] {
    try await WorkerReport.read(of: queues, from: connection)
  }

  /// Returns the reply; nil if the key has another type.
  func value(_ command: RedisCommand) async throws(RedisError) -> RedisValue? {
    do {
      return try await connection.send(command)
    } catch {
      guard error.isWrongType else { throw error }
      return nil
    }
  }
}

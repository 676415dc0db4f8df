import EventLoop
import Queue
import Redis

/// Reads the reports of the live workers.
@EventLoop
struct FleetReader {
  let connection: RedisClient

  /// Returns the reports of the workers that serve one of the queues, by name.
  func workers(of queues: [String]) async throws(RedisError) -> [String: WorkerReport] {
    var reports: [String: WorkerReport] = [:]
    for queue in queues {
      let keys = QueueKeys(queue: queue)
      let names = try await value(RedisCommand("SMEMBERS", keys.workers))?.array?.compactMap(\.string) ?? []
      guard !names.isEmpty else { continue }
      var command = RedisCommand("MGET")
      for name in names { command.append(keys.heartbeat(name)) }
      let values = try await connection.send(command).array ?? []
      for (name, value) in zip(names, values) {
        if let report = value.contents.flatMap(WorkerReport.init(json:)) { reports[name] = report }
      }
    }
    return reports
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

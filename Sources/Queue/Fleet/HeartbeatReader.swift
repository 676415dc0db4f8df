import EventLoop
import Redis

/// Reads the reports of workers from their heartbeats, JSON of ``WorkerReport``. A worker writes the same report for each of its
/// queues, so that one heartbeat is enough.
@EventLoop
struct HeartbeatReader {
  let connection: RedisClient

  /// Sends `commands` and reads the reports of the living workers, in one exchange. `members` are the names of each queue's
  /// workers. Another exchange follows only for workers whose heartbeat is absent and who may have one for another queue.
  func read(
    _ members: [(keys: QueueKeys, names: [String])], with commands: [RedisCommand] = []
  ) async throws(RedisError) -> (replies: [Result<RedisValue, RedisError>], reports: [String: [UInt8]]) {
    var heartbeats: [String: [String]] = [:]
    for (keys, names) in members {
      for name in names { heartbeats[name, default: []].append(keys.heartbeat(name)) }
    }
    var reports: [String: [UInt8]] = [:]
    var replies: [Result<RedisValue, RedisError>] = []
    var round = 0
    while true {
      let names = heartbeats.filter { reports[$0.key] == nil && $0.value.count > round }.keys.sorted()
      let sent = round == 0 ? commands : []
      if names.isEmpty, sent.isEmpty { return (replies, reports) }
      let answers = await connection.exchange(
        sent + names.map { RedisCommand("GET", heartbeats[$0]?[round] ?? "") })
      if round == 0 { replies = Array(answers.prefix(sent.count)) }
      for (name, answer) in zip(names, answers.dropFirst(sent.count)) {
        let value = try answer.absentIfWrongType().contents
        if value?.first == UInt8(ascii: "{") { reports[name] = value }
      }
      round += 1
    }
  }
}

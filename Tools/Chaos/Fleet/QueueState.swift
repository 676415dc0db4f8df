import EventLoop
import JSON
import Redis

/// What Redis holds of the queues, by the keys that docs/redis-keys.md names.
@EventLoop
struct QueueState {
  let connection: RedisClient
  let queues: [String]

  /// `key length` of each key that holds jobs, except dead letters. Each queue is read in one step, because its jobs
  /// move all the time.
  func jobs() async throws -> [String] {
    try await lengths(suffixes: ["inflight:*", "landing:*", "retry", "scheduled"])
  }

  /// `key length` of each key that shows a worker or its jobs.
  func remains() async throws -> [String] {
    try await lengths(suffixes: [
      "inflight:*", "landing:*", "retry", "scheduled", "workers", "heartbeat:*",
    ])
  }

  /// The names of the workers that each queue knows, dead ones that nobody has reaped yet among them.
  func workers() async throws -> [[String]] {
    var all: [[String]] = []
    for queue in queues {
      let names = try await connection.send(RedisCommand("SMEMBERS", "martlet:{\(queue)}:workers")).array ?? []
      all.append(names.compactMap(\.string))
    }
    return all
  }

  /// The process id in the name of a worker, which ends with it and a random word.
  static func pid(ofWorker name: String) -> Int32? { Int32(name.split(separator: "-").dropLast().last ?? "") }

  private func lengths(suffixes: [String]) async throws -> [String] {
    let script = """
      local left = {}
      for _, pattern in ipairs(ARGV) do
        for _, key in ipairs(redis.call('KEYS', pattern)) do
          local kind = redis.call('TYPE', key).ok
          local count = kind == 'list' and redis.call('LLEN', key) or kind == 'zset' and redis.call('ZCARD', key)
            or kind == 'set' and redis.call('SCARD', key) or 1
          if count > 0 then left[#left + 1] = key .. ' ' .. count end
        end
      end
      return left
      """
    var left: [String] = []
    for queue in queues {
      var command = RedisCommand("EVAL").with(script)
      command.append(1)
      // In a cluster, the server of this key has all others of the queue.
      command.append(queue)
      command.append(queue)
      for suffix in suffixes { command.append("martlet:{\(queue)}:\(suffix)") }
      left += (try await connection.send(command).array ?? []).compactMap(\.string)
    }
    return left
  }

  struct Letter {
    let id: String
    let reason: String
  }

  func deadLetters() async throws -> [Letter] {
    var letters: [Letter] = []
    for queue in queues {
      let members = try await connection.send(RedisCommand("ZRANGE", "martlet:{\(queue)}:dead", "0", "-1")).array ?? []
      for member in members.compactMap(\.bytes) {
        let line = Array(member.prefix { $0 != UInt8(ascii: "\n") })
        let value = try? JSONValue(parsing: line)
        letters.append(Letter(id: value?["id"]?.string ?? "", reason: value?["reason"]?.string ?? ""))
      }
    }
    return letters
  }

  func records(of ids: [String]) async throws -> [String: JobRecord] {
    var records: [String: JobRecord] = [:]
    for start in stride(from: 0, to: ids.count, by: QueueState.batch) {
      let batch = ids[start..<min(start + QueueState.batch, ids.count)]
      var command = RedisCommand("MGET")
      for id in batch { command.append("push:result:\(id)") }
      let values = try await connection.send(command).array ?? []
      for (id, value) in zip(batch, values) { records[id] = value.bytes.flatMap(JobRecord.init(parsing:)) }
    }
    return records
  }

  /// Those of the devices that have no registration.
  func unregistered(of tokens: [String]) async throws -> [String] {
    var missing: [String] = []
    for start in stride(from: 0, to: tokens.count, by: QueueState.batch) {
      let batch = tokens[start..<min(start + QueueState.batch, tokens.count)]
      var command = RedisCommand("MGET")
      for token in batch { command.append("push:token:\(token)") }
      let values = try await connection.send(command).array ?? []
      missing += zip(batch, values).filter { $0.1.bytes == nil }.map(\.0)
    }
    return missing
  }

  private static let batch = 500
}

import Foundation
import Jobs
import Operations
import Redis
import TestSupport
@testable package import Queue

/// The state in Redis when jobs have ended.
extension Fleet {
  /// The current record.
  package func currentRecord(_ id: String) async throws -> JobRecord? {
    guard let bytes = try await redis("GET", QueueKeys.result(id)).bytes else { return nil }
    return try JSONDecoder().decode(JobRecord.self, from: Data(bytes))
  }

  /// Waits for the final record of a job.
  package func record(_ id: String) async throws -> JobRecord {
    try await record(id, "its end", where: \.isFinal)
  }

  /// Waits for a record that `isWanted`.
  package func record(_ id: String, _ what: String, where isWanted: (JobRecord) -> Bool) async throws -> JobRecord {
    var last: JobRecord?
    do {
      try await eventually("record of \(id): \(what)") {
        last = try await currentRecord(id)
        return last.map(isWanted) ?? false
      }
    } catch let timeout as TestTimeout {
      throw TestTimeout("\(timeout); it is \(last.map { "\($0)" } ?? "not there")")
    }
    guard let last else { throw TestTimeout("no record of \(id)") }
    return last
  }

  /// The dead letters of a queue, oldest first.
  package func deadLetters(_ queue: String) async throws -> [DeadLetter] {
    let members = try await redis("ZRANGE", QueueKeys(queue: queue).dead, "0", "-1").array ?? []
    return members.compactMap(\.bytes).compactMap(DeadLetter.init(bytes:))
  }

  /// Waits for `count` dead letters.
  package func deadLetters(_ queue: String, count: Int) async throws -> [DeadLetter] {
    var letters: [DeadLetter] = []
    try await eventually("\(count) dead letters of \(queue)") {
      letters = try await deadLetters(queue)
      return letters.count >= count
    }
    return letters
  }

  /// `key length` of each key that still holds jobs of a queue, except dead letters. It is read in one step, because jobs move
  /// between keys all the time.
  package func leftovers(_ queue: String) async throws -> [String] {
    let keys = QueueKeys(queue: queue)
    let script = """
      local left = {}
      local lists = redis.call('KEYS', ARGV[1])
      for _, key in ipairs(redis.call('KEYS', ARGV[4])) do lists[#lists + 1] = key end
      lists[#lists + 1] = KEYS[1]
      for _, key in ipairs(lists) do
        local length = redis.call('TYPE', key).ok == 'list' and redis.call('LLEN', key) or 0
        if length > 0 then left[#left + 1] = key .. ' ' .. length end
      end
      for _, key in ipairs({ARGV[2], ARGV[3]}) do
        local count = redis.call('ZCARD', key)
        if count > 0 then left[#left + 1] = key .. ' ' .. count end
      end
      return left
      """
    let answer = try await redis(
      "EVAL", script, "1", queue, keys.inflight("*"), keys.retry, keys.scheduled, keys.landing("*"))
    return (answer.array ?? []).compactMap(\.string)
  }

  /// The number of these jobs.
  package func unsettled(_ queue: String) async throws -> Int {
    try await leftovers(queue).reduce(0) { $0 + (Int($1.split(separator: " ").last ?? "") ?? 0) }
  }

  /// Waits until all jobs of a queue have ended.
  package func settled(_ queue: String) async throws {
    try await eventually("\(queue) has nothing left") { try await unsettled(queue) == 0 }
  }
}

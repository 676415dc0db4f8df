import Foundation
import Jobs
import Redis
import TestSupport

/// What stands in Redis when jobs have ended.
extension Fleet {
  /// The record as it is now.
  func currentRecord(_ id: String) async throws -> JobRecord? {
    guard let bytes = try await redis("GET", QueueKeys.result(id)).bytes else { return nil }
    return try JSONDecoder().decode(JobRecord.self, from: Data(bytes))
  }

  /// Waits for the record that says how the job ended.
  func record(_ id: String, within: Duration = .seconds(30)) async throws -> JobRecord {
    try await record(id, within: within, "its end", where: \.isFinal)
  }

  /// Waits for a record that `isWanted`.
  func record(
    _ id: String, within: Duration = .seconds(30), _ what: String, where isWanted: (JobRecord) -> Bool
  ) async throws -> JobRecord {
    var last: JobRecord?
    do {
      try await eventually(within: within, "record of \(id): \(what)") {
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
  func deadLetters(_ queue: String) async throws -> [DeadLetter] {
    let members = try await redis("ZRANGE", QueueKeys(queue: queue).dead, "0", "-1").array ?? []
    return members.compactMap(\.bytes).compactMap(DeadLetter.init(bytes:))
  }

  /// Waits for `count` dead letters.
  func deadLetters(_ queue: String, count: Int) async throws -> [DeadLetter] {
    var letters: [DeadLetter] = []
    try await eventually(within: .seconds(30), "\(count) dead letters of \(queue)") {
      letters = try await deadLetters(queue)
      return letters.count >= count
    }
    return letters
  }

  /// Jobs that wait in the list, stand in an in-flight list, or wait for their time.
  func unsettled(_ queue: String) async throws -> Int {
    let keys = QueueKeys(queue: queue)
    var count = try await redis("LLEN", queue).integer ?? 0
    count += try await redis("ZCARD", keys.retry).integer ?? 0
    count += try await redis("ZCARD", keys.scheduled).integer ?? 0
    for worker in try await redis("SMEMBERS", keys.workers).array ?? [] {
      count += try await redis("LLEN", keys.inflight(worker.string ?? "")).integer ?? 0
    }
    return Int(count)
  }

  /// Waits until nothing is left to do in a queue.
  func settled(_ queue: String, within: Duration = .seconds(60)) async throws {
    try await eventually(within: within, "\(queue) has nothing left") { try await unsettled(queue) == 0 }
  }
}

import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// The state of Redis and of the gateway's ledger when all jobs must have ended.
struct Status {
  /// The number of records by status.
  var statuses: [String: Int] = [:]
  var withoutRecord: [String] = []
  var withoutPush: [String] = []
  /// The number of pushes accepted again with a known apns-id.
  var duplicates = 0
  /// The number of uncertain pushes in the records.
  var uncertain = 0
  /// The keys that still hold jobs, with their lengths.
  var leftovers: [String] = []

  /// Expects that every job was accepted and recorded, and that no key holds jobs.
  func expectAllAccepted(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(statuses == ["accepted": count], sourceLocation: sourceLocation)
    #expect(withoutRecord == [], sourceLocation: sourceLocation)
    #expect(withoutPush == [], sourceLocation: sourceLocation)
    #expect(leftovers == [], sourceLocation: sourceLocation)
  }

  var description: String {
    "records \(statuses), without record \(withoutRecord.count), never pushed \(withoutPush.count), "
      + "duplicates \(duplicates), uncertain \(uncertain), left over \(leftovers)"
  }
}

extension Fleet {
  /// Waits until no job of `queue` waits or is in flight, then reads the state of every job.
  func status(of jobs: [LoadJob], on queue: String) async throws -> Status {
    do {
      try await eventually("nothing is left of \(queue)") { try await leftovers(queue).isEmpty }
    } catch {
      print("left over of \(queue): \(try await leftovers(queue))")
    }
    if let code = gateway.process.exitCode {
      throw TestTimeout("the gateway ended with \(code): \(gateway.process.lines.suffix(20))")
    }
    var status = Status()
    status.leftovers = try await leftovers(queue)
    let counts = try await gateway.counts()
    for start in stride(from: 0, to: jobs.count, by: 1000) {
      let batch = jobs[start..<min(start + 1000, jobs.count)]
      let records = try await records(of: Array(batch))
      for (job, record) in zip(batch, records) {
        if let record { status.statuses[record.status, default: 0] += 1 } else { status.withoutRecord.append(job.id) }
        status.uncertain += record?.uncertain ?? 0
        let count = counts[job.apnsID] ?? 0
        if count == 0 { status.withoutPush.append(job.id) }
        status.duplicates += max(0, count - 1)
      }
    }
    return status
  }

  private func records(of jobs: [LoadJob]) async throws -> [JobRecord?] {
    var command = RedisCommand("MGET")
    for job in jobs { command.append(QueueKeys.result(job.id)) }
    let values = try await connection.send(command).array ?? []
    return try values.map { try $0.bytes.map { try JSONDecoder().decode(JobRecord.self, from: Data($0)) } }
  }
}

import EventLoop
import Jobs
import QueueSupport
import Redis
import TestSupport
import Testing

@testable import Queue

/// Records that are written in a step of their own, as in a cluster: the settlement behind them may never happen.
@EventLoop
@Suite(.serialized)
struct SeparateRecordTests: QueueScriptTests {
  let redis: QueueServer

  init() async throws { redis = try await Self.server() }

  /// The record of a job `a`, which was claimed at `claimedAt` and ended 10 ms later.
  private func record(
    _ status: JobStatus, by worker: String = "w", claimedAt: Int64 = 100, nonce: String? = "n.1", author: String? = nil
  ) -> Settlement.Record {
    var result = JobResult(
      id: "a", status: status, worker: worker, claimedAt: claimedAt, finishedAt: claimedAt + 10)
    if nonce != nil { result.history.append(claimedAt, .claimed(worker: worker, attempt: 1, waited: nil)) }
    return Settlement.Record(
      jobID: "a", json: result.json(nonce: nonce), timeToLive: .seconds(60), author: author)
  }

  /// Writes the record of the job with `nonce`. Returns false if another job has one there.
  @discardableResult
  private func write(_ record: Settlement.Record, nonce: String? = "n.1") async throws -> Bool {
    let records = SeparateRecords(connection: connection)
    let result = await withCheckedContinuation { continuation in
      records.write(Settlement(.acknowledge, record: record), nonce: nonce) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  private func stored() async throws -> JobResult? {
    try await send("GET", QueueKeys.result("a")).bytes.flatMap(JobResult.init(parsing:))
  }

  @Test(arguments: [JobStatus.retrying, .deferred], [JobStatus.accepted, .noDevices, .dead, .duplicate])
  func `the end of a job replaces the record of an attempt that was never settled`(
    before: JobStatus, end: JobStatus
  ) async throws {
    try await write(record(before))
    // Claimed at the same time, by the clock of another machine. A job that is simply accepted has no nonce in its record.
    #expect(try await write(record(end, by: "v", nonce: end == .accepted ? nil : "n.1")))
    #expect(try await stored()?.status == end)
    #expect(try await stored()?.worker == "v")
  }

  @Test(arguments: [JobStatus.accepted, .retrying, .dead])
  func `another job with the same id does not replace the record of one that has not ended`(
    status: JobStatus
  ) async throws {
    try await write(record(.retrying))
    #expect(try await !write(record(status, by: "v", claimedAt: 500, nonce: "n.2"), nonce: "n.2"))
    #expect(try await stored()?.status == .retrying)
    #expect(try await write(record(.accepted, claimedAt: 600, nonce: nil)))
    #expect(try await write(record(status, by: "v", claimedAt: 700, nonce: "n.2"), nonce: "n.2"))
    #expect(try await stored()?.status == status)
  }

  @Test func `a worker that was taken for dead and writes late does not replace the end of its job`() async throws {
    try await write(record(.dead, by: "v", claimedAt: 200))
    #expect(try await write(record(.retrying)))
    #expect(try await stored()?.status == .dead)
    // Requeued, it runs once more.
    #expect(try await write(record(.retrying, by: "v", claimedAt: 300)))
    #expect(try await stored()?.status == .retrying)
  }

  @Test func `a requeued job replaces its record, also by a clock that is behind`() async throws {
    try await write(record(.dead, claimedAt: 900))
    #expect(try await write(record(.retrying, by: "v", claimedAt: 300, author: "w 900")))
    #expect(try await stored()?.status == .retrying)
    try await write(record(.dead, claimedAt: 900))
    #expect(try await write(record(.accepted, by: "v", claimedAt: 300, nonce: nil)))
    #expect(try await stored()?.status == .accepted)
  }

  @Test func `a record of an earlier version is known by its author`() async throws {
    try await write(record(.retrying, nonce: nil), nonce: nil)
    #expect(try await !write(record(.accepted, by: "v", claimedAt: 300, nonce: nil)))
    #expect(try await write(record(.accepted, by: "v", claimedAt: 300, nonce: nil, author: "w 100")))
    #expect(try await stored()?.status == .accepted)
  }

  @Test func `a duplicate leaves the record of another job, ended or not`() async throws {
    for status in [JobStatus.accepted, .retrying] {
      try await send("DEL", QueueKeys.result("a"))
      try await write(record(status, nonce: "n.2"), nonce: "n.2")
      #expect(try await write(record(.duplicate, by: "v", claimedAt: 900)))
      #expect(try await stored()?.status == status)
    }
  }

  @Test func `a full Redis keeps the records of jobs that are under way`() async throws {
    try await send("CONFIG", "SET", "maxmemory", "1")
    #expect(try await write(record(.retrying)))
    #expect(try await write(record(.accepted, by: "v", nonce: nil)))
    try await send("CONFIG", "SET", "maxmemory", "0")
    #expect(try await stored()?.status == .accepted)
  }
}

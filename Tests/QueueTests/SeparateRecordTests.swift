import EventLoop
import Jobs
import PushModel
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
    _ status: JobStatus, by worker: String = "w", claimedAt: Int64 = 100, nonce: String? = "n.1", author: String? = nil,
    turn: AttemptTurn = AttemptTurn(), queue: String? = nil
  ) -> Settlement.Record {
    var result = JobResult(
      id: "a", status: status, worker: worker, claimedAt: claimedAt, finishedAt: claimedAt + 10)
    result.turn = turn
    if nonce != nil { result.history.append(claimedAt, .claimed(worker: worker, attempt: 1, waited: nil)) }
    return Settlement.Record(
      jobID: "a", json: result.json(nonce: nonce, queue: queue), timeToLive: .seconds(60), author: author)
  }

  /// Writes the record of the job with `nonce`. Returns false if another job has one there.
  @discardableResult
  private func write(
    _ record: Settlement.Record, nonce: String? = "n.1", queue: String = "q"
  ) async throws -> Bool {
    let records = SeparateRecords(connection: connection)
    let result = await withCheckedContinuation { continuation in
      records.write(Settlement(.acknowledge, record: record), nonce: nonce, queue: queue) {
        continuation.resume(returning: $0)
      }
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

  @Test func `a job of another queue that has not ended keeps no end out, and does not take it back`() async throws {
    let waiting = record(.retrying, nonce: "n.2", queue: "other")
    for status in [JobStatus.retrying, .deferred, .accepted, .dead] {
      try await send("DEL", QueueKeys.result("a"))
      try await write(waiting, nonce: "n.2", queue: "other")
      #expect(try await write(record(status, by: "v", claimedAt: 50)) == status.isFinal)
      #expect(try await stored()?.status == (status.isFinal ? status : .retrying))
    }
    let again = record(.retrying, claimedAt: 900, nonce: "n.2", author: "w 100", queue: "other")
    #expect(try await !write(again, nonce: "n.2", queue: "other"))
    #expect(try await stored()?.status == .dead)
    #expect(try await write(record(.accepted, claimedAt: 950, nonce: "n.2"), nonce: "n.2", queue: "other"))
    #expect(try await stored()?.status == .accepted)
  }

  @Test func `a worker that was taken for dead and writes late does not replace the end of its job`() async throws {
    // Its clock is ahead.
    let late = [JobStatus.retrying, .noDevices, .dead].map { record($0, claimedAt: 900) }
    try await write(record(.accepted, by: "v", claimedAt: 200, turn: AttemptTurn(requeues: 0, attempts: 0, crashes: 1)))
    for record in late {
      #expect(try await write(record))
      #expect(try await stored()?.status == .accepted)
    }
    // Requeued, it runs once more.
    let again = AttemptTurn(requeues: 1, attempts: 0, crashes: 0)
    #expect(try await write(record(.retrying, by: "v", claimedAt: 300, turn: again)))
    #expect(try await stored()?.status == .retrying)
  }

  /// What two workers write, one of which was taken for dead: whenever it goes on, what its successor has written stays.
  @Test func `in every order of what two workers write the record and the note of the later attempt stay`() async throws
  {
    let turns = [
      AttemptTurn(), AttemptTurn(requeues: 0, attempts: 0, crashes: 1),
      AttemptTurn(requeues: 0, attempts: 1, crashes: 0), AttemptTurn(requeues: 1, attempts: 0, crashes: 0),
    ]
    for (earlier, later) in turns.indices.flatMap({ place in turns[(place + 1)...].map { (turns[place], $0) } }) {
      for order in Self.orders(of: 2, and: 2) {
        try await send("DEL", QueueKeys.result("a"), "replies")
        for isLater in order.steps {
          let (turn, step) = (isLater.isLater ? later : earlier, isLater.step)
          // The earlier one has a clock that is ahead, and has the last word by it.
          let (status, worker, at) = isLater.isLater ? (JobStatus.accepted, "v", 100) : (.noDevices, "w", 900 as Int64)
          if step == 0 {
            try await write(record(status, by: worker, claimedAt: Int64(at), turn: turn))
          } else {
            try await reply(record(status, by: worker, claimedAt: Int64(at), turn: turn))
          }
        }
        #expect(try await stored()?.status == .accepted, "\(earlier) \(later) \(order)")
        // A reply is not taken back; after the record of the later attempt there is none of the earlier one.
        let replies = try await send("LRANGE", "replies", "0", "-1").array ?? []
        #expect(order.hasEarlierReply || replies.count == 1, "\(order)")
      }
    }
  }

  private struct Order: CustomStringConvertible {
    var steps: [(isLater: Bool, step: Int)]

    /// Whether the earlier worker writes with its reply before the later one has written anything.
    var hasEarlierReply: Bool {
      let first = steps.firstIndex { $0.isLater } ?? steps.count
      return steps[..<first].contains { $0.step == 1 }
    }

    var description: String { steps.map { "\($0.isLater ? "later" : "earlier") \($0.step)" }.joined(separator: ", ") }
  }

  /// Each order of the steps of two workers in which each does its own one after the other.
  private static func orders(of earlier: Int, and later: Int) -> [Order] {
    func merged(_ a: Int, _ b: Int) -> [[(Bool, Int)]] {
      if a == 0, b == 0 { return [[]] }
      var all: [[(Bool, Int)]] = []
      if a > 0 { all += merged(a - 1, b).map { $0 + [(false, a - 1)] } }
      if b > 0 { all += merged(a, b - 1).map { $0 + [(true, b - 1)] } }
      return all
    }
    return merged(earlier, later).map { Order(steps: $0.map { (isLater: $0.0, step: $0.1) }) }
  }

  /// Writes the record, and puts it on a list.
  private func reply(_ record: Settlement.Record) async throws {
    let records = SeparateRecords(connection: connection)
    let settlement = Settlement(.acknowledge, record: record, replyTo: "replies")
    let result = await withCheckedContinuation { continuation in
      records.write(settlement, nonce: "n.1", queue: "q") { continuation.resume(returning: $0) }
    }
    _ = try result.get()
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

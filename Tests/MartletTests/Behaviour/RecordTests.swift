import FleetSupport
import Foundation
import Jobs
import PushModel
import Redis
import Testing
import TestSupport
@testable import Queue

/// Jobs of different producers with the same id share a record key, but do not overwrite each other's records.
@Suite(.serialized) struct RecordTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  private func job(_ id: String, to token: String? = nil, _ members: String = "") -> String {
    #"{"id":"\#(id)","to":{"token":"\#(token ?? fleet.uniqueToken())"},"title":"Hello"\#(members)}"#
  }

  private func store(_ status: String, finishedAt: Int64, of id: String) async throws -> String {
    let counts = #""accepted":1,"failed":0,"stale":0,"uncertain":0,"reasons":{},"results":[],"attempts":1"#
    let record =
      #"{"id":"\#(id)","status":"\#(status)",\#(counts),"worker":"w","claimedAt":1,"finishedAt":\#(finishedAt)}"#
    try await fleet.redis("SET", QueueKeys.result(id), record)
    return record
  }

  private func arrives(_ token: String) async throws {
    try await eventually("the push arrives") {
      try await fleet.gateway.recent().contains { $0.token == token }
    }
  }

  @Test func `the record of a job replaces that of its duplicate, which ends first`() async throws {
    let (queue, id) = (fleet.unique("repeated"), fleet.unique("job"))
    let repeated = job(id, #","dedupe":"\#(id)""#)
    let worker = try await fleet.worker(on: queue)
    // The job does not end before the record of its duplicate is seen.
    fleet.gateway.process.signal(SIGSTOP)
    defer { fleet.gateway.process.signal(SIGCONT) }
    try await fleet.enqueue(repeated, repeated, on: queue)
    _ = try await fleet.record(id, "the duplicate's") { $0.status == "duplicate" }
    fleet.gateway.process.signal(SIGCONT)
    _ = try await fleet.record(id, "the job's own") { $0.status == "accepted" }
    #expect(try await worker.metric("martlet_records_kept_total") == 0)
  }

  @Test(arguments: [nil, "n"])
  func `a job that has killed its workers is dead in its record, unless the record is another job's`(nonce: String?)
    async throws
  {
    let (queue, id) = (fleet.unique("crashed"), fleet.unique("job"))
    let keys = QueueKeys(queue: queue)
    var earlier = JobResult(id: id, status: .retrying, attempts: 1, worker: "w", claimedAt: 1, finishedAt: 2)
    earlier.add(
      DeviceResult(token: DeviceToken(fleet.uniqueToken()), ok: true, status: 200, apnsID: "a"), as: .accepted)
    earlier.history.append(1, .claimed(worker: "w", attempt: 1, waited: nil))
    let kept = earlier.json(nonce: nonce)
    try await fleet.pipelined([kept]) { [RedisCommand("SET", QueueKeys.result(id)).with($0)] }
    var state = AttemptState()
    state.result = earlier
    let envelope = Envelope(
      crashes: QueueLimits.maximumCrashes, attempts: 1, nonce: "n", state: state.json(), job: Array(job(id).utf8))
    try await fleet.pipelined([envelope.element]) { [RedisCommand("LPUSH", keys.inflight("gone")).with($0)] }
    try await fleet.redis("SADD", keys.workers, "gone")
    let worker = try await fleet.worker(on: queue)
    #expect(try await fleet.deadLetters(queue, count: 1).map(\.id) == [id])
    if nonce == nil {
      try await eventually("it is noted") { try await worker.metric("martlet_records_kept_total") == 1 }
      #expect(try await fleet.redis("GET", QueueKeys.result(id)).bytes == kept)
    } else {
      let record = try await fleet.record(id, "its end") { $0.status == "dead" }
      #expect(record.reason == "crashed 4 workers in a row")
      #expect((record.attempts, record.accepted, record.worker) == (2, 1, "gone"))
    }
    #expect(try await worker.stop() == 0)
  }

  /// A job with a replyTo uses another script.
  @Test(arguments: ["retrying", "deferred"], [false, true])
  func `the record of another job that has not ended stays, which is logged once`(
    status: String, hasReply: Bool
  ) async throws {
    let worker = try await fleet.worker()
    let (id, list) = (fleet.unique("shared"), fleet.unique("reply"))
    let record = try await store(status, finishedAt: 1, of: id)
    let reply = hasReply ? #","replyTo":"\#(list)""# : ""
    for count in 1...2 {
      let token = fleet.uniqueToken()
      try await fleet.enqueue(job(id, to: token, reply), on: worker.queue)
      try await arrives(token)
      try await eventually("it is counted") {
        try await worker.metric("martlet_records_kept_total") == Double(count)
      }
    }
    #expect(try await fleet.redis("GET", QueueKeys.result(id)).string == record)
    let lines = try await worker.lines(with: "a record was not written because another job has the same id")
    #expect(lines.count == 1)
    #expect(lines.allSatisfy { $0.contains(id) && $0.contains(worker.queue) })
    // Its own producer gets the reply.
    #expect(try await fleet.redis("LLEN", list).integer == (hasReply ? 2 : 0))
    #expect(try await worker.stop() == 0)
  }

  @Test func `a record that another job wrote while this one was in flight stays`() async throws {
    let worker = try await fleet.worker()
    let (id, token) = (fleet.unique("shared"), fleet.uniqueToken())
    let record = try await store("accepted", finishedAt: 4_000_000_000_000, of: id)
    try await fleet.enqueue(job(id, to: token), on: worker.queue)
    try await arrives(token)
    try await eventually("it is counted") { try await worker.metric("martlet_records_kept_total") == 1 }
    #expect(try await fleet.redis("GET", QueueKeys.result(id)).string == record)
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: ["accepted", "dead", "unheard of"])
  func `a job enqueued again after the first one ended replaces the record`(status: String) async throws {
    let worker = try await fleet.worker()
    let id = fleet.unique("again")
    _ = try await store(status, finishedAt: 1000, of: id)
    try await fleet.enqueue(job(id), on: worker.queue)
    _ = try await fleet.record(id, "the new one") { $0.status == "accepted" && $0.finishedAt > 1000 }
    #expect(try await worker.metric("martlet_records_kept_total") == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: ["list", "[1]", "no record", #"{"finishedAt":{}}"#])
  func `a value that is not a record is replaced`(value: String) async throws {
    let worker = try await fleet.worker()
    let id = fleet.unique("odd")
    if value == "list" {
      try await fleet.redis("LPUSH", QueueKeys.result(id), value)
    } else {
      try await fleet.redis("SET", QueueKeys.result(id), value)
    }
    try await fleet.enqueue(job(id), on: worker.queue)
    try await eventually("it has ended") {
      guard let bytes = try? await fleet.redis("GET", QueueKeys.result(id)).bytes else { return false }
      return String(decoding: bytes, as: UTF8.self).contains(#""status":"accepted""#)
    }
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: ["", #","replyTo":"replies""#])
  func `the end of a job replaces the record of one that waits in another queue, and stays`(
    members: String
  ) async throws {
    let (worker, other) = (try await fleet.worker(), try await fleet.worker())
    let (id, slow, fast) = (fleet.unique("common"), fleet.uniqueToken(), fleet.uniqueToken())
    try await fleet.gateway.device(slow, #""rule":"fixed","status":503,"retryAfter":1"#)
    try await fleet.enqueue(job(id, to: slow), on: other.queue)
    _ = try await fleet.record(id, "postponed") { $0.status == "retrying" }
    try await fleet.enqueue(job(id, to: fast, members), on: worker.queue)
    let record = try await fleet.record(id, "its end") { $0.status == "accepted" }
    #expect(record.device(fast) != nil)
    #expect(try await worker.metric("martlet_records_kept_total") == 0)
    // What the other one writes while it waits does not replace it; its end does.
    try await eventually("it is counted") { try await other.metric("martlet_records_kept_total") ?? 0 >= 1 }
    #expect(try await fleet.currentRecord(id)?.device(fast) != nil)
    try await fleet.gateway.reset()
    _ = try await fleet.record(id, "the other's end") { $0.device(slow) != nil && $0.status == "accepted" }
    for worker in [worker, other] { #expect(try await worker.stop() == 0) }
  }

  @Test(arguments: ["", #","replyTo":"replies""#])
  func `a waiting job's record is replaced by its own attempts only`(members: String) async throws {
    let worker = try await fleet.worker()
    let (id, slow, fast) = (fleet.unique("mine"), fleet.uniqueToken(), fleet.uniqueToken())
    try await fleet.gateway.device(slow, #""rule":"fixed","status":503,"retryAfter":2"#)
    try await fleet.enqueue(job(id, to: slow, members), on: worker.queue)
    _ = try await fleet.record(id, "postponed") { $0.status == "retrying" }
    try await fleet.enqueue(job(id, to: fast), on: worker.queue)
    try await eventually("it is counted") { try await worker.metric("martlet_records_kept_total") == 1 }
    #expect(try await fleet.currentRecord(id)?.device(fast) == nil)
    try await fleet.gateway.reset()
    let record = try await fleet.record(id)
    #expect(record.status == "accepted")
    #expect(record.attempts >= 2)
    #expect(record.device(slow) != nil)
    #expect(try await worker.metric("martlet_records_kept_total") == 1)
    #expect(try await worker.stop() == 0)
  }
}

import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// The outcomes of jobs and their records.
@Suite(.serialized) struct OutcomeTests {
  private static let shared = Task { try await Fleet() }
  private static let sharedWorker = Task { try await shared.value.worker(["MARTLET_MAX_ATTEMPTS": "2"]) }
  private let fleet: Fleet
  private let worker: FleetWorker

  init() async throws {
    fleet = try await Self.shared.value
    worker = try await Self.sharedWorker.value
    try await fleet.gateway.reset()
  }

  private func deliver(_ members: String, to token: String? = nil, id: String? = nil) async throws -> JobRecord {
    let id = id ?? fleet.unique("outcome")
    try await enqueue(members, to: token ?? fleet.uniqueToken(), id: id)
    return try await fleet.record(id)
  }

  private func enqueue(_ members: String, to token: String, id: String, on queue: String? = nil) async throws {
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"token":"\#(token)"},"title":"Hello"\#(members)}"#, on: queue ?? worker.queue)
  }

  private var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

  @Test func `the record contains the outcome and expires`() async throws {
    let (token, id, before) = (fleet.uniqueToken(), fleet.unique("outcome"), now)
    let record = try await deliver("", to: token, id: id)
    #expect(record.id == id)
    #expect(record.status == "accepted")
    #expect(record.attempts == 1)
    #expect(record.reasons.isEmpty)
    #expect(!record.worker.isEmpty)
    #expect(record.claimedAt >= before)
    #expect(record.finishedAt >= record.claimedAt)
    let device = try #require(record.results.first)
    #expect(device == .init(token: token, ok: true, status: 200, apnsId: device.apnsId, reason: nil, uniqueId: nil))
    #expect(device.apnsId == apnsID(jobID: id, token: token))
    let left = try await fleet.redis("TTL", QueueKeys.result(id)).integer ?? 0
    #expect((80_000...86_400).contains(left))
  }

  @Test func `the record is pushed to replyTo, which expires`() async throws {
    let list = fleet.unique("reply")
    let record = try await deliver(#","replyTo":"\#(list)""#)
    let replies = try await fleet.redis("LRANGE", list, "0", "-1").array ?? []
    #expect(replies.count == 1)
    let reply = try JSONDecoder().decode(JobRecord.self, from: Data(try #require(replies.first?.bytes)))
    #expect(reply == record)
    #expect((1...3600).contains(try await fleet.redis("TTL", list).integer ?? 0))
  }

  @Test func `a replyTo list that existed before the reply does not expire`() async throws {
    let list = fleet.unique("reply")
    try await fleet.redis("LPUSH", list, "somebody else's")
    #expect(try await deliver(#","replyTo":"\#(list)""#).status == "accepted")
    #expect(try await fleet.redis("LLEN", list).integer == 2)
    #expect(try await fleet.redis("TTL", list).integer == -1)
  }

  @Test(arguments: ["string", "hash"])
  func `a replyTo of another type does not expire`(type: String) async throws {
    let key = fleet.unique("reply")
    if type == "string" { try await fleet.redis("SET", key, "x") } else { try await fleet.redis("HSET", key, "a", "b") }
    #expect(try await deliver(#","replyTo":"\#(key)""#).status == "accepted")
    #expect(try await fleet.redis("TYPE", key).string == type)
    #expect(try await fleet.redis("TTL", key).integer == -1)
  }

  @Test func `a replyTo that names any queue of the fleet is refused`() async throws {
    let other = fleet.unique("any-name")
    let worker = try await fleet.worker(["MARTLET_QUEUES": "\(fleet.unique("jobs")),\(other)"])
    for (number, queue) in [worker.queue, other].enumerated() {
      let id = fleet.unique("loop")
      let job = #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"x","replyTo":"\#(queue)"}"#
      try await fleet.enqueue(job, on: worker.queue)
      let letters = try await fleet.deadLetters(worker.queue, count: number + 1)
      let letter = try #require(letters.first { $0.id == id })
      #expect(letter.reason == "replyTo: \(queue) is a queue of this fleet; name another list")
      #expect(letter.envelope.job == Array(job.utf8))
      let command = try await fleet.martlet("enqueue", environment: ["MARTLET_QUEUES": queue], input: job + "\n")
      #expect(command.exitCode == 1)
      #expect(command.lines.contains { $0.contains("is a queue of this fleet") })
    }
    #expect(try await fleet.redis("EXISTS", other).integer == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a replyTo that is not a list loses only the reply`() async throws {
    let key = fleet.unique("reply")
    try await fleet.redis("SET", key, "a string")
    #expect(try await deliver(#","replyTo":"\#(key)""#).status == "accepted")
    #expect(try await fleet.redis("GET", key).string == "a string")
  }

  @Test func `the second job with the same dedupe is recorded as duplicate`() async throws {
    let value = fleet.unique("value")
    #expect(try await deliver(#","dedupe":"\#(value)""#).status == "accepted")
    let second = try await deliver(#","dedupe":"\#(value)""#)
    #expect(second.status == "duplicate")
    #expect(second.results.isEmpty)
    #expect(try await fleet.gateway.ledger().received == 1)
  }

  @Test func `a dedupe value counts in one queue, for the app that the job names`() async throws {
    let (value, queue) = (fleet.unique("value"), fleet.unique("other"))
    let other = try await fleet.worker(on: queue)
    for app in ["", #","app":"com.example.demo""#, #","app":"com.example.other""#] {
      #expect(try await deliver(app + #","dedupe":"\#(value)""#).status != "duplicate")
      #expect(try await deliver(app + #","dedupe":"\#(value)""#).status == "duplicate")
    }
    for status in ["accepted", "duplicate"] {
      let id = fleet.unique("outcome")
      try await enqueue(#","dedupe":"\#(value)""#, to: fleet.uniqueToken(), id: id, on: queue)
      #expect(try await fleet.record(id).status == status)
    }
    #expect(try await other.stop() == 0)
  }

  @Test func `a value that 2.0.0 has kept counts until it expires, and not for its own job`() async throws {
    let (value, nonce, id) = (fleet.unique("value"), fleet.unique("nonce"), fleet.unique("outcome"))
    try await fleet.redis("SET", "martlet:{dedupe}:\(value)", nonce)
    #expect(try await deliver(#","dedupe":"\#(value)""#).status == "duplicate")
    let job = #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello","dedupe":"\#(value)"}"#
    try await fleet.enqueue(Envelope(crashes: 1, nonce: nonce, job: Array(job.utf8)), on: worker.queue)
    #expect(try await fleet.record(id).status == "accepted")
    try await fleet.redis("DEL", "martlet:{dedupe}:\(value)")
    #expect(try await deliver(#","dedupe":"\#(value)""#).status == "accepted")
  }

  @Test func `a job whose worker crashed is not its own duplicate`() async throws {
    let (value, nonce, id) = (fleet.unique("value"), fleet.unique("nonce"), fleet.unique("outcome"))
    try await fleet.redis("SET", QueueKeys(queue: worker.queue).dedupe(value, app: nil), nonce)
    let job = #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello","dedupe":"\#(value)"}"#
    try await fleet.enqueue(Envelope(crashes: 1, nonce: nonce, job: Array(job.utf8)), on: worker.queue)
    #expect(try await fleet.record(id).status == "accepted")
  }

  @Test func `nothing is sent before sendAt, in either notation`() async throws {
    let due = now + 1500
    let iso = Date(timeIntervalSince1970: Double(due) / 1000).ISO8601Format(.init(includingFractionalSeconds: true))
    for time in [String(due), "\"\(iso)\""] {
      let (token, id) = (fleet.uniqueToken(), fleet.unique("outcome"))
      try await enqueue(#","sendAt":\#(time)"#, to: token, id: id)
      #expect(try await fleet.record(id).status == "accepted")
      let push = try #require(try await fleet.gateway.recent().last { $0.token == token })
      #expect(push.arrival / 1_000_000 >= due)
    }
  }

  @Test func `an expired job is not sent`() async throws {
    let record = try await deliver(#","expiration":\#(now / 1000 - 10)"#)
    #expect(record.status == "expired")
    #expect(try await fleet.gateway.ledger().received == 0)
  }

  @Test func `the headers contain the expiration`() async throws {
    let token = fleet.uniqueToken()
    let earliest = now / 1000 + 600
    _ = try await deliver(#","ttl":600,"priority":5,"collapseId":"lunch""#, to: token)
    let push = try #require(try await fleet.gateway.recent().last { $0.token == token })
    #expect(push.priority == "5")
    #expect(push.collapseId == "lunch")
    let expiration = try #require(push.expiration.flatMap { Int64($0) })
    #expect(expiration >= earliest && expiration < earliest + 600)
  }

  @Test(arguments: ["expiration", "ttl"])
  func `a push without a lifetime is sent now and not stored by APNs`(field: String) async throws {
    let token = fleet.uniqueToken()
    #expect(try await deliver(#","\#(field)":0"#, to: token).status == "accepted")
    #expect(try await fleet.gateway.recent().last { $0.token == token }?.expiration == "0")
  }

  @Test func `retries stop at the expiration`() async throws {
    let token = fleet.uniqueToken()
    try await fleet.gateway.device(token, #""rule":"fixed","status":503,"retryAfter":300"#)
    let record = try await deliver(#","ttl":200"#, to: token)
    #expect(record.status == "dead")
    #expect(record.reason?.contains("expired") == true)
    #expect(try await fleet.gateway.ledger().received == 1)
  }

  @Test func `a server error is retried under the same apns-id until it is accepted`() async throws {
    let token = fleet.uniqueToken()
    try await fleet.gateway.fault(#"{"kind":"status","status":503,"retryAfter":1,"count":1}"#)
    let record = try await deliver("", to: token)
    #expect(record.status == "accepted")
    #expect(record.attempts == 2)
    let pushes = try await fleet.gateway.recent().filter { $0.token == token }
    #expect(pushes.map(\.status) == [503, 200])
    #expect(Set(pushes.map(\.apnsId)).count == 1)
    #expect(pushes[1].arrival - pushes[0].arrival >= 900_000_000)
  }

  @Test func `a job that fails every attempt goes to the dead letters`() async throws {
    let (token, id) = (fleet.uniqueToken(), fleet.unique("outcome"))
    try await fleet.gateway.device(token, #""rule":"fixed","status":500"#)
    let record = try await deliver("", to: token, id: id)
    #expect(record.status == "dead")
    #expect(record.attempts == 2)
    let letter = try #require(try await fleet.deadLetters(worker.queue).first { $0.id == id })
    #expect(letter.reason == record.reason)
    #expect(letter.reason.contains("2 attempts"))
    #expect(letter.reason.contains("InternalServerError"))
  }

  @Test func `a throttled device does not delay others`() async throws {
    let (slow, id) = (fleet.uniqueToken(), fleet.unique("outcome"))
    try await fleet.gateway.device(slow, #""rule":"throttled""#)
    let tokens = [slow] + fleet.uniqueTokens(9)
    let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    // With more attempts than the others: this test may be slower than the second.
    let worker = try await fleet.worker()
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"tokens":[\#(list)]},"title":"Hello"}"#, on: worker.queue)
    let first = try await fleet.record(id, "the rest accepted") { $0.accepted == 9 }
    #expect(first.status == "retrying")
    #expect(first.reason == "TooManyRequests")
    try await fleet.gateway.clearDevices()
    let record = try await fleet.record(id)
    #expect(record.status == "accepted")
    #expect(record.accepted == 10)
    #expect(try await fleet.gateway.ledger().accepted == 10)
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: [(403, "Forbidden"), (403, "BadEnvironmentKeyIdInToken"), (400, "TopicDisallowed")])
  func `a job ends whose device is refused for what others are accepted with`(status: Int, reason: String) async throws
  {
    let (token, id) = (fleet.uniqueToken(), fleet.unique("outcome"))
    #expect(try await deliver("", to: fleet.uniqueToken(), id: fleet.unique("outcome")).status == "accepted")
    try await fleet.gateway.device(token, #""rule":"fixed","status":\#(status),"reason":"\#(reason)""#)
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"token":"\#(token)"},"title":"a"}"#, on: worker.queue)
    try await eventually("it ends") {
      // Others go on meanwhile, and no route is paused.
      #expect(try await deliver("", to: fleet.uniqueToken(), id: fleet.unique("outcome")).status == "accepted")
      return try await fleet.currentRecord(id)?.isFinal == true
    }
    let record = try await fleet.record(id)
    #expect(record.status == "failed" && record.reasons == [reason: 1], "\(record)")
    try await fleet.gateway.clearDevices()
  }

  @Test(arguments: ["BadTopic", "BadCollapseId", "PayloadTooLarge", "InvalidPushType"])
  func `a permanent refusal ends the job at once`(reason: String) async throws {
    let (token, id) = (fleet.uniqueToken(), fleet.unique("outcome"))
    try await fleet.gateway.device(token, #""rule":"fixed","status":400,"reason":"\#(reason)""#)
    let record = try await deliver("", to: token, id: id)
    #expect(record.status == "dead")
    #expect(record.attempts == 1)
    let letter = try #require(try await fleet.deadLetters(worker.queue).first { $0.id == id })
    #expect(letter.reason.contains(reason))
    // Another connection may know a topic that this one does not.
    #expect(try await fleet.gateway.ledger().received <= (reason == "BadTopic" ? 2 : 1))
  }

  @Test(arguments: [("failures", [false, true]), ("none", [false, false])])
  func `MARTLET_RESULTS limits the records that are kept`(mode: String, kept: [Bool]) async throws {
    let worker = try await fleet.worker(["MARTLET_RESULTS": mode])
    let bad = fleet.uniqueToken()
    try await fleet.gateway.device(bad, #""rule":"bad""#)
    let ids = [fleet.unique("outcome"), fleet.unique("outcome")]
    for (token, id) in zip([fleet.uniqueToken(), bad], ids) {
      try await enqueue("", to: token, id: id, on: worker.queue)
    }
    try await fleet.settled(worker.queue)
    for (id, isKept) in zip(ids, kept) { #expect(try await (fleet.currentRecord(id) != nil) == isKept) }
    #expect(try await fleet.gateway.ledger().received == 2)
    try await worker.stop()
  }

  @Test func `with MARTLET_RESULTS=failures the record of a failure is removed when a retry succeeds`() async throws {
    let worker = try await fleet.worker(["MARTLET_RESULTS": "failures"])
    let (token, id) = (fleet.uniqueToken(), fleet.unique("outcome"))
    try await fleet.gateway.device(token, #""rule":"fixed","status":503,"retryAfter":1"#)
    try await enqueue("", to: token, id: id, on: worker.queue)
    _ = try await fleet.record(id, "postponed") { $0.status == "retrying" }
    try await fleet.gateway.clearDevices()
    #expect(try await fleet.record(id).status == "accepted")
    try await worker.stop()
  }
}

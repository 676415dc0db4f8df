import EventLoop
import Events
import Jobs
import QueueSupport
import Redis
import Testing

@testable import Queue

/// The end of a job with a record, a reply and an event, in one script on a real Redis.
@EventLoop
@Suite(.serialized)
struct SettleScriptTests: QueueScriptTests {
  let redis: QueueServer
  private let record = "push:result:a"
  private let reply = "push:replies:a"
  private let stream = "push:events"

  init() async throws { redis = try await Self.server() }

  private func acknowledge(_ mode: DeliveryMode) async throws -> SettleAnswer {
    let claim = Claim(queueIndex: 0, element: Array("element".utf8), nonce: "n", now: 0, monotonic: 0)
    let json = Array(#"{"id":"a","claimedAt":1}"#.utf8)
    let settlement = Settlement(
      .acknowledge, record: Settlement.Record(jobID: "a", json: json, timeToLive: .seconds(60)))
    let event = Event.dead(EventJob(id: "a", queue: keys.queue), reason: "r", attempts: 1, at: 1)
    let answer = try await connection.send(
      settlement.call(of: claim, keys, worker: "w", mode, seal: "s3al", replyTo: reply, events: [event]))
    return SettleAnswer(answer)
  }

  @Test(arguments: [DeliveryMode.atLeastOnce, .atMostOnce])
  func `a full Redis takes the record, the reply and the event`(mode: DeliveryMode) async throws {
    if mode == .atLeastOnce { try await send("LPUSH", keys.inflight("w"), "element") }
    try await fill()
    #expect(try await acknowledge(mode) == .settled(droppedLetters: 0, keptRecord: false))
    try await send("CONFIG", "SET", "maxmemory", "0")
    #expect(try await send("EXISTS", record).integer == 1)
    #expect(try await send("LLEN", reply).integer == 1)
    #expect(try await send("XLEN", stream).integer == 1)
    #expect(try await send("EXISTS", keys.inflight("w")).integer == 0)
  }

  @Test func `an event that Redis refuses costs neither the record nor the reply, and is reported`() async throws {
    try await send("SET", stream, "another type")
    try await send("LPUSH", keys.inflight("w"), "element")
    guard case .settled(0, false, let refusal?) = try await acknowledge(.atLeastOnce) else {
      Issue.record("the refusal is not reported")
      return
    }
    #expect(refusal.contains("WRONGTYPE"))
    #expect(try await send("EXISTS", record).integer == 1)
    #expect(try await send("LLEN", reply).integer == 1)
  }
}

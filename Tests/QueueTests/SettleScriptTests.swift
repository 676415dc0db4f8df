import EventLoop
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
    let inflight = keys.inflight("w")
    let answer = try await connection.call(
      QueueScripts.settle, keys: [inflight, inflight, record, reply, inflight, inflight, stream]
    ) { command in
      for word in ["element", mode.rawValue, "acknowledge", "", "0", ""] { command.append(word) }
      for word in [#"{"id":"a","claimedAt":1}"#, "60000", "", "", "0", "0"] { command.append(word) }
      command.append(#"{"type":"job.failed","at":1,"data":{"id":"a"}}"#)
    }
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

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

  /// Acknowledges elements without records. Returns the places of those that were missing.
  private func acknowledge(all elements: [String]) async throws -> Set<Int> {
    let inflight = keys.inflight("w")
    let call = QueueScripts.acknowledge(
      inflight: inflight, records: RedisList(elements.map { _ in inflight }), mode: DeliveryMode.atLeastOnce.rawValue,
      ttl: 0, count: 0, first: [], last: [], together: 0, jobs: RedisList(elements.map { _ in "" } + elements))
    let answer = AcknowledgeAnswer(try await connection.send(call))
    return try #require(answer).missing
  }

  /// The elements that are acknowledged of the list "a" to "e", those that it keeps, and the places of those that it lacks.
  struct Ends: Sendable {
    let ended: String
    let left: String
    var missing: Set<Int> = []
  }

  @Test(arguments: [
    Ends(ended: "abc", left: "de"), Ends(ended: "cab", left: "de"), Ends(ended: "dab", left: "ce"),
    Ends(ended: "ce", left: "abd"), Ends(ended: "xad", left: "bce", missing: [0]), Ends(ended: "edcba", left: ""),
    Ends(ended: "abcdex", left: "", missing: [5]), Ends(ended: "x", left: "abcde", missing: [0]),
    Ends(ended: "aab", left: "cde", missing: [1]),
  ])
  func `jobs that are acknowledged together leave the others in their order`(_ ends: Ends) async throws {
    for element in "abcde" { try await send("LPUSH", keys.inflight("w"), String(element)) }
    #expect(try await acknowledge(all: ends.ended.map(String.init)) == ends.missing)
    let list = try await send("LRANGE", keys.inflight("w"), "0", "-1").array ?? []
    #expect(list.compactMap(\.string).reversed().joined() == ends.left)
  }

  @Test func `one of two equal elements is acknowledged`() async throws {
    for element in ["a", "a", "b"] { try await send("LPUSH", keys.inflight("w"), element) }
    #expect(try await acknowledge(all: ["b", "a"]) == [])
    #expect(try await send("LRANGE", keys.inflight("w"), "0", "-1").array?.compactMap(\.string) == ["a"])
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
    guard case .settled(0, false, let refusal?, nil) = try await acknowledge(.atLeastOnce) else {
      Issue.record("the refusal is not reported")
      return
    }
    #expect(refusal.contains("WRONGTYPE"))
    #expect(try await send("EXISTS", record).integer == 1)
    #expect(try await send("LLEN", reply).integer == 1)
  }
}

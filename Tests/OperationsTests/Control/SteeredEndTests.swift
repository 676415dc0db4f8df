import EventLoop
import Redis
import TestSupport
import Testing

@testable import Jobs
@testable import Operations
@testable import Queue

/// What operators have asked of jobs, broadcasts and workers, when those end.
@EventLoop
@Suite(.serialized)
struct SteeredEndTests {
  enum End: CaseIterable { case acknowledged, recorded, retriedBefore, buried }

  private func settlement(_ end: End, _ claim: Claim) -> Settlement {
    let record = Settlement.Record(jobID: "a", json: Array("{}".utf8), timeToLive: .seconds(60))
    switch end {
    case .acknowledged: return Settlement(.acknowledge)
    case .recorded: return Settlement(.acknowledge, record: record)
    case .retriedBefore:
      var later = record
      later.author = "w 1"
      return Settlement(.acknowledge, record: later)
    case .buried:
      let letter = DeadLetter(id: "a", reason: "r", at: 1, attempts: 1, envelope: claim.envelope)
      return Settlement(.bury(reason: "r"), as: letter.bytes, at: 1, record: record)
    }
  }

  @Test(arguments: End.allCases, [DeliveryMode.atLeastOnce, .atMostOnce])
  func `the mark of a job outlives it, however the job ends`(end: End, mode: DeliveryMode) async throws {
    let fixture = try await QueueFixture(mode: mode)
    let claim = try await fixture.claim("a")
    try await fixture.mark("a")
    try await eventually("the worker knows the mark") { claim.isCancelled }
    try await fixture.settle(claim, settlement(end, claim))
    #expect(try await fixture.isMarked("a"))
    #expect(try await fixture.send("ZCARD", fixture.keys.dead).integer == (end == .buried ? 1 : 0))
    await fixture.stop()
  }

  @Test func `a mark that an earlier version wrote ends when it says`() async throws {
    let fixture = try await QueueFixture()
    try await fixture.send("ZADD", fixture.keys.cancelled, "\(Clock.unixMilliseconds + 3_600_000)", "a")
    try await fixture.send("SET", fixture.keys.control, "1 C")
    try await fixture.knowsCancellations()
    #expect(try await fixture.isMarked("a"))
    let ends = Clock.unixMilliseconds + 500
    try await fixture.send("ZADD", fixture.keys.cancelled, "XX", "\(ends)", "a")
    try await eventually("nothing is asked of the queue any more") {
      try await fixture.send("EXISTS", fixture.keys.control, fixture.keys.cancelled).integer == 0
    }
    #expect(Clock.unixMilliseconds >= ends)
    await fixture.stop()
  }

  @Test func `jobs end while the memory of Redis is full`() async throws {
    let fixture = try await QueueFixture()
    let claims = [try await fixture.claim("a"), try await fixture.claim("b")]
    try await fixture.send("SET", "filling", String(repeating: "x", count: 400_000))
    try await fixture.send("CONFIG", "SET", "maxmemory", "100kb")
    fixture.queue.settle(claims[0], Settlement(.acknowledge))
    try await fixture.settle(claims[1], settlement(.buried, claims[1]))
    #expect(try await fixture.send("ZCARD", fixture.keys.dead).integer == 1)
    await fixture.stop()
  }

  // MARK: - Broadcasts

  private func hold(_ id: String, _ fixture: QueueFixture) async throws -> Int64? {
    let keys = fixture.keys
    let answer = try await fixture.redis.send(
      OperationsScripts.pauseBroadcast(
        control: keys.control, pauses: keys.pauses, broadcast: keys.broadcast(id), id: id, reason: Array("{}".utf8),
        most: 10))
    return answer.integer
  }

  @Test func `the pause of a broadcast ends with the broadcast`() async throws {
    let fixture = try await QueueFixture()
    let claim = try await fixture.claim("b")
    fixture.queue.writeState(.running, ofBroadcast: "b", app: "com.example", claim: claim)
    #expect(try await hold("b", fixture) == 1)
    try await fixture.settle(claim, Settlement(.acknowledge))
    #expect(try await fixture.send("EXISTS", fixture.keys.pauses, fixture.keys.control).integer == 2)
    fixture.queue.writeState(.finished, ofBroadcast: "b", app: "com.example", claim: claim)
    try await eventually("nothing is paused") {
      try await fixture.send("EXISTS", fixture.keys.pauses, fixture.keys.control).integer == 0
    }
    #expect(try await hold("b", fixture) == -1)
    await fixture.stop()
  }

  // MARK: - Drained workers

  @Test func `a drained worker that is fenced stays drained under its new name alone`() async throws {
    let fixture = try await QueueFixture()
    try await eventually("it has joined") {
      try await fixture.send("SISMEMBER", fixture.keys.workers, fixture.queue.lease.name.value).integer == 1
    }
    let old = fixture.queue.lease.name.value
    #expect(try await FleetQueues([fixture.keys.queue], connection: fixture.redis).drain(old))
    try await eventually("it is drained") { fixture.queue.isDraining }
    try await fixture.send("SET", fixture.keys.tombstone(old), "")
    fixture.queue.lease.beat()
    try await eventually("it has another name") { fixture.queue.lease.name.value != old }
    let new = fixture.queue.lease.name.value
    try await eventually("the new name is drained") {
      try await fixture.send("SISMEMBER", fixture.keys.drained, new).integer == 1
    }
    #expect(try await fixture.send("SMEMBERS", fixture.keys.drained).array?.compactMap(\.string) == [new])
    #expect(fixture.queue.isDraining)
    await fixture.stop()
  }
}

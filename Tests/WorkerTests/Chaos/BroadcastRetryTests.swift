import TestSupport
import Testing

/// A broadcast that could not reach everybody at once.
@Suite struct BroadcastRetryTests {
  @Test func `the next attempt at a broadcast sends to the devices left open, and to no other`() async throws {
    let fleet = try await Fleet()
    let queue = fleet.unique("open")
    let app = "com.example.\(queue)"
    let tokens = fleet.uniqueTokens(1200)
    try await fleet.register(tokens, to: queue, bundleID: app)
    try await fleet.gateway.device(tokens[700], #""rule":"fixed","status":503,"reason":"ServiceUnavailable""#)
    let worker = try await fleet.worker(["MARTLET_LOG": "info"], on: queue)
    try await fleet.enqueue(#"{"id":"\#(queue)","to":{"app":"\#(app)"},"title":"All"}"#, on: queue)
    _ = try await fleet.record(queue, "what is left") { $0.status == "retrying" && $0.accepted == 1199 }
    try await fleet.gateway.device(tokens[700], #""rule":"good""#)
    let record = try await fleet.record(queue)
    let ledger = try await fleet.gateway.ledger()
    #expect(record.status == "accepted")
    #expect(record.accepted == 1200)
    #expect(ledger.accepted == 1200)
    #expect(ledger.duplicates == 0)
    #expect(try await fleet.leftovers(queue) == [])
    #expect(try await worker.stop() == 0)
  }

  @Test func `a broadcast that cannot learn how far it had come is put off, and nobody is sent to twice`() async throws
  {
    let fleet = try await Fleet()
    let queue = fleet.unique("unknown")
    let app = "com.example.\(queue)"
    let tokens = fleet.uniqueTokens(3000)
    try await fleet.register(tokens, to: queue, bundleID: app)
    try await hideProgress(fleet, queue)
    let worker = try await fleet.worker(["MARTLET_LOG": "info"], on: queue)
    try await fleet.enqueue(#"{"id":"\#(queue)","to":{"app":"\#(app)"},"title":"All"}"#, on: queue)
    let putOff = try await fleet.record(queue, "its being put off") { $0.status == "retrying" }
    #expect(putOff.accepted == 0)
    #expect(putOff.reason?.contains("NOPERM") == true)
    #expect(try await fleet.gateway.ledger().received == 0)
    try await fleet.redis.redisCLI(["ACL", "SETUSER", "default", "allkeys"])
    let record = try await fleet.record(queue)
    let ledger = try await fleet.gateway.ledger()
    #expect(record.status == "accepted")
    #expect(record.accepted == 3000)
    #expect(ledger.accepted == 3000)
    #expect(ledger.duplicates == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `devices left open are not forgotten by an attempt that learns nothing`() async throws {
    let fleet = try await Fleet()
    let queue = fleet.unique("kept")
    let app = "com.example.\(queue)"
    let tokens = fleet.uniqueTokens(600)
    try await fleet.register(tokens, to: queue, bundleID: app)
    try await fleet.gateway.device(tokens[400], #""rule":"fixed","status":503,"reason":"ServiceUnavailable""#)
    let worker = try await fleet.worker(["MARTLET_LOG": "info"], on: queue)
    try await fleet.enqueue(#"{"id":"\#(queue)","to":{"app":"\#(app)"},"title":"All"}"#, on: queue)
    _ = try await fleet.record(queue, "what is left") { $0.status == "retrying" && $0.accepted == 599 }
    try await hideProgress(fleet, queue)
    try await fleet.gateway.device(tokens[400], #""rule":"good""#)
    _ = try await fleet.record(queue, "the attempt in vain") { $0.reason?.contains("NOPERM") == true }
    try await fleet.redis.redisCLI(["ACL", "SETUSER", "default", "allkeys"])
    let record = try await fleet.record(queue)
    let ledger = try await fleet.gateway.ledger()
    #expect(record.status == "accepted")
    #expect(record.accepted == 600)
    #expect(ledger.accepted == 600)
    #expect(ledger.duplicates == 0)
    #expect(try await worker.stop() == 0)
  }

  /// From now on all may be read but how far broadcasts have come.
  private func hideProgress(_ fleet: Fleet, _ queue: String) async throws {
    let internals = ["inflight:*", "heartbeat:*", "tombstone:*", "workers", "keeper", "retry", "scheduled", "dead"]
    let allowed = ["~push:*", "~\(queue)"] + internals.map { "~*}:\($0)" }
    try await fleet.redis.redisCLI(["ACL", "SETUSER", "default", "resetkeys"] + allowed)
  }
}

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
}

import FleetSupport
import Testing
import TestSupport

/// Retries of broadcasts. Each test has its own fleet, because it counts every push.
@Suite struct BroadcastRetryTests {
  @Test func `a retry of a broadcast sends only to the devices left open`() async throws {
    let fleet = try await Fleet()
    let (queue, tokens) = try await audience(of: 1200, in: fleet)
    let worker = try await broadcast(on: queue, in: fleet, leavingOpen: tokens[700], accepted: 1199)
    try await fleet.gateway.device(tokens[700], #""rule":"good""#)
    try await expectAllOnce(tokens, queue, in: fleet)
    #expect(try await fleet.leftovers(queue) == [])
    #expect(try await worker.stop() == 0)
  }

  @Test func `a broadcast whose progress cannot be read is retried and sends nothing twice`() async throws {
    let fleet = try await Fleet()
    let (queue, tokens) = try await audience(of: 3000, in: fleet)
    try await hideProgress(fleet, queue)
    let worker = try await broadcast(on: queue, in: fleet)
    let postponed = try await fleet.record(queue, "postponed") { $0.status == "retrying" }
    #expect(postponed.accepted == 0)
    #expect(postponed.reason?.contains("NOPERM") == true)
    #expect(try await fleet.gateway.ledger().received == 0)
    try await fleet.redis.redisCLI(["ACL", "SETUSER", Fleet.user, "allkeys"])
    try await expectAllOnce(tokens, queue, in: fleet)
    #expect(try await worker.stop() == 0)
  }

  @Test func `devices left open survive an attempt that cannot read the progress`() async throws {
    let fleet = try await Fleet()
    let (queue, tokens) = try await audience(of: 600, in: fleet)
    let worker = try await broadcast(on: queue, in: fleet, leavingOpen: tokens[400], accepted: 599)
    try await hideProgress(fleet, queue)
    _ = try await fleet.record(queue, "the attempt in vain") { $0.reason?.contains("NOPERM") == true }
    try await fleet.gateway.device(tokens[400], #""rule":"good""#)
    try await fleet.redis.redisCLI(["ACL", "SETUSER", Fleet.user, "allkeys"])
    try await expectAllOnce(tokens, queue, in: fleet)
    #expect(try await worker.stop() == 0)
  }

  /// A queue whose name is the id of its only job, and the devices of its app.
  private func audience(of count: Int, in fleet: Fleet) async throws -> (queue: String, tokens: [String]) {
    let queue = fleet.unique("retry")
    let tokens = fleet.uniqueTokens(count)
    try await fleet.register(tokens, to: queue, bundleID: "com.example.\(queue)")
    return (queue, tokens)
  }

  /// The worker that has claimed the broadcast.
  private func broadcast(on queue: String, in fleet: Fleet) async throws -> FleetWorker {
    let worker = try await fleet.worker(["MARTLET_LOG": "info"], on: queue)
    try await fleet.enqueue(
      #"{"id":"\#(queue)","to":{"app":"com.example.\#(queue)"},"title":"All"}"#, on: queue)
    return worker
  }

  /// Returns when the broadcast waits for its retry with one device left open.
  private func broadcast(
    on queue: String, in fleet: Fleet, leavingOpen token: String, accepted: Int
  ) async throws -> FleetWorker {
    try await fleet.gateway.device(token, #""rule":"fixed","status":503,"reason":"ServiceUnavailable""#)
    let worker = try await broadcast(on: queue, in: fleet)
    _ = try await fleet.record(queue, "what is left") { $0.status == "retrying" && $0.accepted == accepted }
    return worker
  }

  private func expectAllOnce(_ tokens: [String], _ queue: String, in fleet: Fleet) async throws {
    let record = try await fleet.record(queue)
    let ledger = try await fleet.gateway.ledger()
    #expect(record.status == "accepted")
    #expect(record.accepted == tokens.count)
    #expect(ledger.accepted == tokens.count)
    #expect(ledger.duplicates == 0)
  }

  /// Makes Redis refuse to read the progress of broadcasts.
  private func hideProgress(_ fleet: Fleet, _ queue: String) async throws {
    let internals = [
      "inflight:*", "landing:*", "heartbeat:*", "tombstone:*", "workers", "keeper", "retry", "scheduled", "dead",
      "seal", "control", "cancelled", "held", "paused", "drained", "broadcasts", "broadcast:*", "due:*",
    ]
    let allowed =
      ["~push:*", "~martlet:{counters}:*", "~martlet:refusal:*", "~martlet:removal:*", "~\(queue)"]
      + internals.map { "~*}:\($0)" }
    try await fleet.redis.redisCLI(["ACL", "SETUSER", Fleet.user, "resetkeys"] + allowed)
  }
}

import FleetSupport
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// Only the fleet makes envelopes. An element of a producer is a job, even if it looks like an envelope.
@Suite(.serialized) struct SealTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
  }

  private func job(_ id: String) -> String { #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"x"}"# }

  @Test(arguments: ["at-least-once", "at-most-once"])
  func `a producer's element that begins like an envelope is a job that is not JSON`(mode: String) async throws {
    let queue = fleet.unique("forged")
    let settings = ["MARTLET_DELIVERY": mode]
    func forged(_ head: String) -> [UInt8] { Array((head + job(fleet.unique("forged"))).utf8) }
    let first = [forged("MARTLET1 0 0 n 0\n"), forged("MARTLET1 3 7 n 0\n"), forged("MARTLET x MARTLET1 0 0 n 0\n")]
    try await fleet.enqueue(first, on: queue)
    let worker = try await fleet.worker(settings, on: queue)
    // One is claimed in a batch, one by a waiting worker.
    var letters = try await fleet.deadLetters(queue, count: 3)
    let last = forged("MARTLET1 0 0 n 0\n")
    try await fleet.enqueue([last], on: queue)
    letters = try await fleet.deadLetters(queue, count: 4)
    #expect(Set(letters.map(\.envelope.job)) == Set(first + [last]))
    #expect(letters.allSatisfy { $0.reason.hasPrefix("not JSON") && $0.attempts == 1 })
    #expect(try await worker.stop() == 0)
  }

  @Test func `a deleted seal is written again, and jobs handed back with it run`() async throws {
    let queue = fleet.unique("sealed")
    let keys = QueueKeys(queue: queue)
    // This worker claims but cannot send.
    let elsewhere = ["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:\(try freePort())"]
    let promoter = try await fleet.worker(elsewhere, on: queue, isReady: false)
    try await eventually("it has joined") { try await fleet.redis("SCARD", keys.workers).integer == 1 }
    let seal = try await fleet.redis("GET", "martlet:{\(queue)}:seal")
    let (id, other) = (fleet.unique("requeued"), fleet.unique("reaped"))
    let letter = DeadLetter(
      id: id, reason: "x", at: 1, attempts: 1, envelope: Envelope(nonce: "n", job: Array(job(id).utf8)))
    _ = try await fleet.connection.send(RedisCommand("ZADD", keys.dead, "1").with(letter.bytes))
    #expect(try await fleet.martlet("dead", "requeue", environment: ["MARTLET_QUEUES": queue]).exitCode == 0)
    let crashed = Envelope(crashes: 1, attempts: 0, nonce: "m", job: Array(job(other).utf8))
    try await fleet.enqueue([crashed.element], on: keys.inflight("gone"))
    try await fleet.redis("SADD", keys.workers, "gone")
    try await eventually("both wait") { try await fleet.redis("LLEN", queue).integer == 2 }
    try await fleet.redis("DEL", "martlet:{\(queue)}:seal")
    try await eventually("the seal is there again") { try await fleet.redis("GET", "martlet:{\(queue)}:seal") == seal }
    let worker = try await fleet.worker(on: queue)
    #expect(try await fleet.record(id).status == "accepted")
    #expect(try await fleet.record(other).status == "accepted")
    #expect(try await fleet.deadLetters(queue).isEmpty)
    for worker in [promoter, worker] { #expect(try await worker.stop() == 0) }
  }
}

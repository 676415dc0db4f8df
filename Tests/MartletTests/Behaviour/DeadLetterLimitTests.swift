import FleetSupport
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// A queue keeps a limited number of dead letters. Those that are dropped are counted and logged.
@Suite(.serialized) struct DeadLetterLimitTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
  }

  private func fill(_ queue: String) async throws {
    let script = "for i = 1, tonumber(ARGV[1]) do redis.call('ZADD', KEYS[1], i, 'letter ' .. i) end"
    try await fleet.redis(
      "EVAL", script, "1", QueueKeys(queue: queue).dead, "\(QueueLimits.maximumDeadLetters)")
  }

  private func expect(dropped: Int, by worker: FleetWorker) async throws {
    try await eventually("\(dropped) are counted") {
      try await worker.metric("martlet_dead_letters_dropped_total") == Double(dropped)
    }
    let lines = try await worker.lines(with: "the oldest dead letters were deleted")
    #expect(lines.count == 1)
    #expect(lines.allSatisfy { $0.contains(worker.queue) })
    let count = try await fleet.redis("ZCARD", QueueKeys(queue: worker.queue).dead).integer ?? 0
    #expect(count == QueueLimits.maximumDeadLetters)
    #expect(try await worker.stop() == 0)
  }

  @Test func `the limit applies to invalid jobs`() async throws {
    let worker = try await fleet.worker()
    try await fill(worker.queue)
    try await fleet.enqueue("no job", "none either", on: worker.queue)
    try await expect(dropped: 2, by: worker)
  }

  @Test func `the limit applies to jobs that are too large`() async throws {
    let worker = try await fleet.worker()
    try await fill(worker.queue)
    try await fleet.enqueue([[UInt8](repeating: 0x78, count: 70_000)], on: worker.queue)
    try await expect(dropped: 1, by: worker)
  }

  @Test func `the limit applies to jobs that crash every worker`() async throws {
    let queue = fleet.unique("poison")
    let keys = QueueKeys(queue: queue)
    try await fill(queue)
    let envelope = Envelope(crashes: QueueLimits.maximumCrashes, nonce: "n", job: Array("{}".utf8))
    try await fleet.enqueue([envelope.element], on: keys.inflight("gone"))
    try await fleet.redis("SADD", keys.workers, "gone")
    try await expect(dropped: 1, by: try await fleet.worker(on: queue))
  }
}

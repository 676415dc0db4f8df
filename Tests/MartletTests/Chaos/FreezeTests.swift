import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport

/// Frozen workers and half-open connections.
@Suite(.serialized) struct FreezeTests {
  private static let fleet = Task { try await Fleet() }
  private static let quiet = ["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"]

  @Test func `a worker frozen for 30 seconds is fenced, sends no job of others, and works again`()
    async throws
  {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.settings(#"{"rttMs":200}"#)
    let queue = fleet.unique("freeze")
    let frozen = try await fleet.worker(Self.quiet, on: queue)
    let other = try await fleet.worker(Self.quiet, on: queue)
    let load = Load(fleet, on: queue, perSecond: 200)
    await load.start()
    try await eventually("both have jobs in flight") {
      let first = try await frozen.inflight(in: fleet)
      let second = try await other.inflight(in: fleet)
      return first > 10 && second > 0
    }
    frozen.process.signal(SIGSTOP)
    let frozenAt = ContinuousClock.now
    let inHand = try await frozen.inflight(in: fleet)
    let before = try await fleet.gateway.ledger().duplicates
    try await eventually("its jobs are taken over") { try await frozen.inflight(in: fleet) == 0 }
    let takenOverAfter = ContinuousClock.now - frozenAt
    try await Task.sleep(until: frozenAt + .seconds(30))
    let whileFrozen = try await fleet.gateway.ledger().duplicates
    frozen.process.signal(SIGCONT)
    try await frozen.process.line("that it was fenced") { $0.contains("fenced") }
    let account = await load.stop()
    let status = try await fleet.status(of: account.enqueued, on: queue)
    print(
      "frozen with \(inHand) in flight, taken over after \(takenOverAfter): \(status.description); "
        + "\(whileFrozen - before) duplicates by the other worker, \(status.duplicates - whileFrozen) after waking")
    status.expectAllAccepted(account.enqueued.count)
    #expect(status.duplicates <= inHand)
    #expect(status.duplicates == whileFrozen)
    // It belongs to the fleet again and delivers alone.
    #expect(try await other.stop() == 0)
    let more = (0..<200).map { LoadJob("\(queue)-more", $0) }
    try await fleet.enqueue(more.map(\.json), on: queue)
    try await fleet.status(of: more, on: queue).expectAllAccepted(more.count)
    #expect(try await frozen.stop() == 0)
  }

  @Test func `a frozen worker without others continues its jobs`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.settings(#"{"rttMs":200}"#)
    let queue = fleet.unique("alone")
    let worker = try await fleet.worker(Self.quiet, on: queue)
    let load = Load(fleet, on: queue, perSecond: 200)
    await load.start()
    try await eventually("it has jobs in flight") { try await worker.inflight(in: fleet) > 10 }
    worker.process.signal(SIGSTOP)
    try await fleet.forgetHeartbeat(of: worker)
    try await eventually("jobs wait") { try await fleet.redis("LLEN", queue).integer ?? 0 > 200 }
    worker.process.signal(SIGCONT)
    let account = await load.stop()
    let status = try await fleet.status(of: account.enqueued, on: queue)
    print("frozen alone: \(status.description)")
    status.expectAllAccepted(account.enqueued.count)
    #expect(status.duplicates == 0)
    #expect(worker.count(of: "fenced") == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a job popped through a connection that is half open is adopted and sent once`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    let queue = fleet.unique("unanswered")
    let proxy = try DeafProxy(to: fleet.redis.socketPath)
    defer { proxy.close() }
    let worker = try await fleet.worker(Self.quiet.merging(["REDIS_URL": proxy.url]) { $1 }, on: queue)
    try await eventually("it waits in BLMOVE") { proxy.silence(after: "BLMOVE") }
    let job = LoadJob(queue, 0)
    try await fleet.enqueue([job.json], on: queue)
    try await eventually("the job is in flight") { try await worker.inflight(in: fleet) == 1 }
    let status = try await fleet.status(of: [job], on: queue)
    status.expectAllAccepted(1)
    #expect(status.duplicates == 0)
    #expect(worker.count(of: "adopted jobs whose claim was never answered") == 1)
    let more = LoadJob(queue, 1)
    try await fleet.enqueue([more.json], on: queue)
    try await fleet.status(of: [more], on: queue).expectAllAccepted(1)
    #expect(try await worker.stop() == 0)
  }
}

import FleetSupport
import Jobs
import Testing
import TestSupport
@testable import Queue

/// Workers that are killed.
@Suite(.serialized) struct CrashTests {
  private static let fleet = Task { try await Fleet() }
  private static let quiet = ["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"]

  @Test func `kill -9 of one of three workers, twenty times in a row, loses no job`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.settings(#"{"rttMs":50}"#)
    let queue = fleet.unique("crash")
    var workers: [FleetWorker] = []
    for _ in 0..<3 { workers.append(try await fleet.worker(Self.quiet, on: queue)) }
    let load = Load(fleet, on: queue, perSecond: 400)
    await load.start()
    var inHand: [Int] = []
    for round in 0..<20 {
      // A few hundred jobs run between two kills.
      let goal = await load.enqueued + 300
      try await eventually("the load continues") { await load.enqueued >= goal }
      let victim = workers[round % 3]
      try await victim.kill()
      inHand.append(try await victim.inflight(in: fleet))
      workers[round % 3] = try await fleet.worker(Self.quiet, on: queue, isReady: false)
    }
    let account = await load.stop()
    let status = try await fleet.status(of: account.enqueued, on: queue)
    print("20 kills, \(account.enqueued.count) jobs: \(status.description); in flight at the kills \(inHand)")
    status.expectAllAccepted(account.enqueued.count)
    #expect(status.duplicates <= inHand.reduce(0, +))
    for worker in workers { #expect(try await worker.stop() == 0) }
  }

  @Test func `at most once, the jobs of a dead worker are sent again only when they are requeued`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"stall","processed":true}"#)
    let queue = fleet.unique("once")
    let job = LoadJob(queue, 0)
    let victim = try await fleet.worker(Self.quiet, on: queue)
    try await fleet.enqueue([job.atMostOnce], on: queue)
    try await eventually("the push is in flight") { try await fleet.gateway.ledger().accepted == 1 }
    try await victim.kill()
    try await fleet.forgetHeartbeat(of: victim)
    try await fleet.gateway.clearFaults()
    let heir = try await fleet.worker(Self.quiet, on: queue)
    let record = try await fleet.record(job.id)
    #expect(record.status == "dead")
    let letters = try await fleet.deadLetters(queue)
    #expect(letters.map(\.id) == [job.id])
    #expect(letters.allSatisfy { $0.reason.hasPrefix("Uncertain") && $0.envelope.job == job.atMostOnce })
    #expect(try await fleet.gateway.counts() == [job.apnsID: 1])
    let requeue = try await fleet.martlet("dead", "requeue", job.id, environment: ["MARTLET_QUEUES": queue])
    #expect(requeue.lines == ["requeued 1"])
    _ = try await fleet.record(job.id, "its acceptance") { $0.status == "accepted" }
    #expect(try await fleet.gateway.counts() == [job.apnsID: 2])
    #expect(try await fleet.leftovers(queue) == [])
    #expect(try await heir.stop() == 0)
  }

  @Test func `a job that kills every worker is buried after the fourth`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    // There is no answer, so the job is in flight when its worker dies.
    try await fleet.gateway.fault(#"{"kind":"stall"}"#)
    let queue = fleet.unique("poison")
    // A worker without a connection to APNs claims nothing, but reaps.
    let elsewhere = ["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:\(try freePort())"]
    let promoter = try await fleet.worker(Self.quiet.merging(elsewhere) { $1 }, on: queue, isReady: false)
    let job = LoadJob(queue, 0)
    try await fleet.enqueue([job.json], on: queue)
    for _ in 0..<4 {
      let worker = try await fleet.worker(Self.quiet, on: queue, isReady: false)
      try await eventually("the job is in flight") { try await worker.inflight(in: fleet) == 1 }
      try await worker.kill()
      try await fleet.forgetHeartbeat(of: worker)
    }
    let letters = try await fleet.deadLetters(queue, count: 1)
    #expect(letters.map(\.id) == [job.id])
    #expect(letters.map(\.reason) == ["crashed 4 workers in a row"])
    #expect(letters.map(\.envelope.job) == [job.json])
    #expect(try await fleet.leftovers(queue) == [])
    #expect(try await promoter.stop() == 0)
  }
}

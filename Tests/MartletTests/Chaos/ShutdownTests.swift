import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// Stopping workers with SIGTERM.
@Suite(.serialized) struct ShutdownTests {
  private static let fleet = Task { try await Fleet() }
  private static let quiet = ["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"]

  @Test func `repeated SIGTERM under load loses no job and sends no job twice`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.settings(#"{"rttMs":50}"#)
    let queue = fleet.unique("shutdown")
    var workers: [FleetWorker] = []
    for _ in 0..<2 { workers.append(try await fleet.worker(Self.quiet, on: queue)) }
    let load = Load(fleet, on: queue, perSecond: 400)
    await load.start()
    for round in 0..<10 {
      let goal = await load.enqueued + 200
      try await eventually("the load continues") { await load.enqueued >= goal }
      let leaving = workers[round % 2]
      #expect(try await leaving.stop() == 0)
      #expect(try await leaving.inflight(in: fleet) == 0)
      workers[round % 2] = try await fleet.worker(Self.quiet, on: queue, isReady: false)
    }
    let account = await load.stop()
    let status = try await fleet.status(of: account.enqueued, on: queue)
    print("10 x SIGTERM, \(account.enqueued.count) jobs: \(status.description)")
    status.expectAllAccepted(account.enqueued.count)
    #expect(status.duplicates == 0)
    for worker in workers { #expect(try await worker.stop() == 0) }
    #expect(try await fleet.redis("SMEMBERS", QueueKeys(queue: queue).workers).array == [])
  }

  @Test func `a second SIGTERM hands unsent jobs back at once`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    // There is one permit and no answer, so all other claimed jobs wait.
    try await fleet.gateway.settings(#"{"maxStreams":1,"initialStreams":1}"#)
    try await fleet.gateway.fault(#"{"kind":"stall","processed":true}"#)
    let queue = fleet.unique("shutdown")
    let jobs = LoadJob.list(queue, 50)
    let stopping = try await fleet.worker(Self.quiet, on: queue, isReady: false)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await eventually("all are claimed and one is sent") {
      let inflight = try await stopping.inflight(in: fleet)
      let accepted = try await fleet.gateway.ledger().accepted
      return inflight == 50 && accepted == 1
    }
    stopping.process.signal(SIGTERM)
    try await stopping.process.line("that it stops") { $0.contains("stopping: no more claims") }
    #expect(try await stopping.stop() == 0)
    #expect(try await fleet.leftovers(queue).filter { $0.contains("inflight") } == [])
    try await fleet.gateway.clearFaults()
    try await fleet.gateway.settings(#"{"maxStreams":1000,"initialStreams":1}"#)
    let heir = try await fleet.worker(Self.quiet, on: queue)
    let status = try await fleet.status(of: jobs, on: queue)
    print("second SIGTERM: \(status.description)")
    status.expectAllAccepted(50)
    // Only the push that was never answered is uncertain and sent again.
    #expect(status.duplicates == 1)
    #expect(status.uncertain == 1)
    #expect(try await fleet.deadLetters(queue).isEmpty)
    #expect(try await heir.stop() == 0)
  }

  @Test func `at most once, a second SIGTERM leaves each job in one place`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    let queue = fleet.unique("once")
    let jobs = LoadJob.list(queue, 50)
    let settings = Self.quiet.merging(["MARTLET_DELIVERY": "at-most-once"]) { $1 }
    let stopping = try await fleet.worker(settings, on: queue)
    // The first answer opens further streams.
    try await fleet.enqueue([LoadJob("first-\(queue)", 0).json], on: queue)
    #expect(try await fleet.record("first-\(queue)-0").status == "accepted")
    try await fleet.gateway.fault(#"{"kind":"stall","processed":true}"#)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await eventually("most are in flight at APNs") { try await fleet.gateway.ledger().accepted >= 41 }
    stopping.process.signal(SIGTERM)
    try await stopping.process.line("that it stops") { $0.contains("stopping: no more claims") }
    #expect(try await stopping.stop() == 0)
    // What APNs has accepted may not run again without an operator.
    let dead = try await fleet.deadLetters(queue).count
    let waiting = try await fleet.redis("LLEN", queue).integer ?? 0
    let retried = try await fleet.redis("ZCARD", QueueKeys(queue: queue).retry).integer ?? 0
    print("at most once, second SIGTERM: \(dead) dead letters, \(waiting) wait, \(retried) are retried")
    #expect(try await fleet.gateway.ledger().accepted <= dead + 1)
    #expect(dead + Int(waiting + retried) == 50)
    try await fleet.gateway.clearFaults()
  }

  @Test func `martlet all stops claiming at once, and a second SIGTERM ends requests and jobs`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    let (queue, user, token) = (fleet.unique("all"), try await fleet.userWithCredentials("all"), fleet.uniqueToken())
    try await fleet.register(token, to: user)
    let service = try await fleet.sidecar(
      "all", ["MARTLET_QUEUES": queue, "MARTLET_LOG": "info", "MARTLET_SHUTDOWN_GRACE": "5m"])
    try await service.apns("ok")
    #expect(try await service.push("test", as: user).status == 200)
    try await fleet.gateway.fault(#"{"kind":"stall","processed":true}"#)
    let request = Task { try await service.push("test", as: user) }
    try await fleet.enqueue(#"{"to":{"token":"\#(token)"},"title":"Stalled"}"#, on: queue)
    try await eventually("a job and a request wait for APNs") { try await fleet.gateway.ledger().accepted == 3 }
    service.process.signal(SIGTERM)
    try await service.process.line("that it stops") { $0.contains("stopping: no more claims") }
    #expect(try await service.process.stop() == 0)
    _ = await request.result
    #expect(try await fleet.leftovers(queue).filter { $0.contains("inflight") } == [])
    try await fleet.gateway.clearFaults()
  }

  @Test func `a broadcast that was stopped midway is finished by another worker`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.settings(#"{"rttMs":100}"#)
    let queue = fleet.unique("broadcast")
    let app = "com.example.\(queue)"
    let tokens = fleet.uniqueTokens(12_000)
    try await fleet.register(tokens, to: queue, bundleID: app)
    let first = try await fleet.worker(Self.quiet, on: queue)
    try await fleet.enqueue(#"{"id":"\#(queue)","to":{"app":"\#(app)"},"title":"All"}"#, on: queue)
    try await eventually("the broadcast is in flight") { try await fleet.gateway.ledger().accepted > 700 }
    #expect(try await first.stop() == 0)
    let sent = try await fleet.gateway.ledger().accepted
    let second = try await fleet.worker(Self.quiet, on: queue)
    let record = try await fleet.record(queue)
    let ledger = try await fleet.gateway.ledger()
    print("broadcast: \(sent) of 12000 sent by the first worker, \(ledger.duplicates) duplicates")
    #expect(sent < 12_000)
    #expect(record.status == "accepted")
    #expect(record.accepted == 12_000)
    #expect(ledger.accepted == 12_000)
    #expect(ledger.duplicates == 0)
    #expect(try await fleet.leftovers(queue) == [])
    #expect(try await second.stop() == 0)
  }
}

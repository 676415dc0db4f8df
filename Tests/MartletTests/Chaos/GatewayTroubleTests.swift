import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// While APNs is unreachable, silent or refusing, no job is lost, and only uncertain pushes are sent twice.
@Suite(.serialized) struct GatewayTroubleTests {
  private static let fleet = Task { try await Fleet() }
  private static let quiet = ["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"]

  @Test func `a GOAWAY every 50 pushes over 5,000 jobs loses no push and sends no push twice`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"goaway","every":50}"#)
    let status = try await deliver(5000, on: fleet.unique("goaway"))
    let ledger = try await fleet.gateway.ledger()
    print("GOAWAY every 50: \(ledger.goaways) GOAWAYs, \(ledger.connections) connections, \(status.description)")
    status.expectAllAccepted(5000)
    #expect(status.duplicates == 0)
    #expect(ledger.goaways >= 90)
  }

  @Test func `refused streams are sent again, and no push twice`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"reset","every":20}"#)
    let status = try await deliver(2000, on: fleet.unique("refused"))
    let ledger = try await fleet.gateway.ledger()
    print("REFUSED_STREAM every 20: \(ledger.resets) resets, \(status.description)")
    status.expectAllAccepted(2000)
    #expect(status.duplicates == 0)
    #expect(ledger.resets >= 90)
  }

  @Test func `only pushes that were never answered are sent again, under the same apns-id`()
    async throws
  {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"drop","every":100,"processed":true}"#)
    let queue = fleet.unique("dropped")
    let status = try await deliver(1000, on: queue)
    let ledger = try await fleet.gateway.ledger()
    print("dropped every 100: \(ledger.drops) drops, \(status.description)")
    status.expectAllAccepted(1000)
    #expect(ledger.distinct == 1000)
    // Each dropped push was processed. Others on its connection may have been.
    #expect(status.duplicates >= ledger.drops)
    #expect(status.duplicates <= status.uncertain)
    #expect(try await fleet.deadLetters(queue).isEmpty)
  }

  @Test func `a push that stays unanswered is buried after the last attempt and counted each time`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"reset","code":2,"processed":true}"#)
    let queue = fleet.unique("unanswered")
    let worker = try await fleet.worker(
      Self.quiet.merging(["MARTLET_MAX_ATTEMPTS": "2"]) { $1 }, on: queue)
    let job = LoadJob(queue, 0)
    try await fleet.enqueue([job.json], on: queue)
    let record = try await fleet.record(job.id)
    #expect(record.status == "dead")
    #expect(record.reason == "gave up after 2 attempts; last reason: Uncertain: StreamReset_2")
    #expect(record.uncertain == 2)
    #expect(record.results.map { $0.reason } == ["Uncertain: StreamReset_2"])
    #expect(try await fleet.gateway.counts() == [job.apnsID: 2])
    #expect(try await fleet.deadLetters(queue).map(\.id) == [job.id])
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: [(atMostOnce: true, mode: "at-least-once"), (atMostOnce: false, mode: "at-most-once")])
  func `at most once, a push that was never answered is buried until it is requeued`(
    atMostOnce: Bool, mode: String
  ) async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"drop","every":100,"processed":true}"#)
    let queue = fleet.unique("once")
    let worker = try await fleet.worker(Self.quiet.merging(["MARTLET_DELIVERY": mode]) { $1 }, on: queue)
    let jobs = LoadJob.list(queue, 1000)
    try await fleet.enqueue(jobs.map { atMostOnce ? $0.atMostOnce : $0.json }, on: queue)
    for job in jobs { _ = try await fleet.record(job.id) }
    let status = try await fleet.status(of: jobs, on: queue)
    let letters = try await fleet.deadLetters(queue)
    let ledger = try await fleet.gateway.ledger()
    print("at most once: \(ledger.drops) drops, \(status.description), \(letters.count) dead letters")
    #expect(status.duplicates == 0)
    #expect(status.withoutRecord == [])
    #expect(status.leftovers == [])
    let dead = status.statuses["dead"] ?? 0
    #expect(dead >= ledger.drops)
    #expect((status.statuses["accepted"] ?? 0) + dead == 1000)
    #expect(letters.count == dead)
    #expect(letters.allSatisfy { $0.reason.hasPrefix("Uncertain") })
    #expect(status.uncertain == dead)
    try await fleet.gateway.clearFaults()
    let requeue = try await fleet.martlet(
      "dead", "requeue", "--reason", "Uncertain", environment: ["MARTLET_QUEUES": queue])
    #expect(requeue.lines == ["requeued \(dead)"])
    for letter in letters { _ = try await fleet.record(letter.id, "its acceptance") { $0.status == "accepted" } }
    let after = try await fleet.gateway.ledger()
    #expect(after.accepted == ledger.accepted + dead)
    #expect(after.distinct == 1000)
    #expect(try await worker.stop() == 0)
  }

  @Test func `an expired provider token is renewed once and nothing is lost`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(
      #"{"kind":"status","status":403,"reason":"ExpiredProviderToken","count":1,"after":100}"#)
    let before = try await fleet.gateway.ledger().received
    let status = try await deliver(500, on: fleet.unique("expired"))
    let ledger = try await fleet.gateway.ledger()
    print("ExpiredProviderToken once: \(ledger.received - before) received, \(status.description)")
    status.expectAllAccepted(500)
    #expect(status.duplicates == 0)
    #expect(ledger.byReason["ExpiredProviderToken"] == 1)
  }

  @Test func `a provider token that APNs does not know pauses the route and keeps the jobs`()
    async throws
  {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"status","status":403,"reason":"InvalidProviderToken"}"#)
    let queue = fleet.unique("paused")
    let jobs = LoadJob.list(queue, 300)
    let worker = try await fleet.worker(Self.quiet, on: queue)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await worker.process.line("that the route is paused") { $0.contains("APNs route paused") }
    try await eventually("all jobs have been postponed") {
      try await fleet.redis("ZCARD", QueueKeys(queue: queue).retry) == .integer(300)
    }
    let record = try await fleet.record(jobs[299].id, "why it waits") { $0.status == "retrying" }
    #expect(record.reason?.contains("InvalidProviderToken") == true)
    #expect(try await fleet.deadLetters(queue).count == 0)
    let refused = try await fleet.gateway.ledger().received
    #expect(worker.process.lines.count { $0.contains("APNs route paused") } == 1)
    try await expectPaused(worker, "InvalidProviderToken")
    // A worker with a valid key delivers them all.
    #expect(try await worker.stop() == 0)
    try await fleet.gateway.clearFaults()
    try await makeRetriesDue(queue)
    let fixed = try await fleet.worker(Self.quiet, on: queue)
    let status = try await fleet.status(of: jobs, on: queue)
    print("InvalidProviderToken: \(refused) refused, \(status.description)")
    status.expectAllAccepted(jobs.count)
    #expect(status.duplicates == 0)
    #expect(try await fixed.stop() == 0)
  }

  @Test func `jobs wait in Redis while APNs cannot be reached`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    let queue = fleet.unique("unreachable")
    let port = try freePort()
    let worker = try await fleet.worker(
      Self.quiet.merging(["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:\(port)"]) { $1 }, on: queue, isReady: false)
    let jobs = LoadJob.list(queue, 100)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await worker.withoutAPNs()
    #expect(try await fleet.redis("LLEN", queue) == .integer(100))
    let bridge = try DeafProxy(toPort: fleet.gateway.ready.port, listeningOn: port)
    defer { bridge.close() }
    try await worker.ready()
    let status = try await fleet.status(of: jobs, on: queue)
    print("APNs unreachable at first: \(status.description), complaints \(worker.complaints)")
    status.expectAllAccepted(jobs.count)
    #expect(status.duplicates == 0)
    #expect(worker.complaints.count <= 1)
    #expect(try await worker.stop() == 0)
  }

  @Test func `with a gateway that accepts connections and never responds no job is claimed`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"acceptStall"}"#)
    let queue = fleet.unique("stalled")
    let worker = try await fleet.worker(Self.quiet, on: queue, isReady: false)
    let jobs = LoadJob.list(queue, 100)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await worker.process.line("that APNs is away") { $0.contains("\"warn\"") }
    try await worker.withoutAPNs()
    #expect(try await fleet.redis("LLEN", queue) == .integer(100))
    try await fleet.gateway.clearFaults()
    try await worker.ready()
    let status = try await fleet.status(of: jobs, on: queue)
    print("APNs stalled: \(status.description), complaints \(worker.complaints)")
    status.expectAllAccepted(jobs.count)
    #expect(status.duplicates == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a route that is refused its topic delays no other route`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.settings(#"{"topics":["com.example.demo"]}"#)
    let queue = fleet.unique("topics")
    let refused = (0..<200).map { _ in
      Array(#"{"to":{"token":"\#(fleet.uniqueToken())"},"app":"com.example.other","title":"Hello"}"#.utf8)
    }
    let jobs = LoadJob.list(queue, 200)
    let worker = try await fleet.worker(["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "8"], on: queue)
    try await fleet.enqueue(refused + jobs.map(\.json), on: queue)
    for job in jobs { #expect(try await fleet.record(job.id).status == "accepted") }
    try await eventually("the others have been postponed") {
      try await fleet.redis("ZCARD", QueueKeys(queue: queue).retry) == .integer(200)
    }
    try await expectPaused(worker, "TopicDisallowed")
    #expect(try await fleet.deadLetters(queue).isEmpty)
    #expect(try await worker.stop() == 0)
  }

  /// Expects a paused route in /readyz, /metrics and `martlet status`.
  private func expectPaused(_ worker: FleetWorker, _ reason: String) async throws {
    let fleet = try await Self.fleet.value
    let (status, body) = try await worker.get("/readyz")
    #expect(status == 200)
    #expect(body.contains(#""reason":"\#(reason)""#))
    #expect(try await worker.get("/metrics").body.contains("martlet_apns_paused_routes{environment="))
    let settings = ["MARTLET_QUEUES": worker.queue]
    try await eventually("status reports it") {
      let lines = try await fleet.martlet("status", "--json", environment: settings).lines(of: .output)
      return lines.contains { $0.contains(#""pausedRoutes":[{"environment"#) && $0.contains(#""reason":"\#(reason)""#) }
    }
    let table = try await fleet.martlet("status", environment: settings).lines(of: .output)
    #expect(table.contains { $0.hasPrefix("paused routes") })
    #expect(table.contains { $0.hasPrefix("production") && $0.contains(reason) && $0.contains("check ") })
  }

  private func makeRetriesDue(_ queue: String) async throws {
    let script = """
      for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 0, member) end
      """
    try await Self.fleet.value.redis("EVAL", script, "1", QueueKeys(queue: queue).retry)
  }

  /// Delivers `count` jobs with a new worker.
  private func deliver(_ count: Int, on queue: String) async throws -> Status {
    let fleet = try await Self.fleet.value
    let worker = try await fleet.worker(Self.quiet, on: queue)
    let jobs = LoadJob.list(queue, count)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    let status = try await fleet.status(of: jobs, on: queue)
    #expect(try await worker.stop() == 0)
    return status
  }
}

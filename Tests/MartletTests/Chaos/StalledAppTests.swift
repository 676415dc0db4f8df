import FleetSupport
import Foundation
import Testing
import TestSupport
@testable import Queue

/// One app that APNs does not answer never delays another.
@Suite(.serialized) struct StalledAppTests {
  private static let fleet = Task { try await Fleet() }

  private static func json(_ job: LoadJob, _ app: String) -> [UInt8] {
    Array(#"{"id":"\#(job.id)","to":{"token":"\#(job.token)"},"app":"\#(app)","title":"Fair"}"#.utf8)
  }

  @Test func `jobs behind thousands of a stalled app are delivered, and later all of that app, once each`()
    async throws
  {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    let queue = fleet.unique("stalled")
    let worker = try await fleet.worker(["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "128"], on: queue)
    // The worker learns that there are two apps.
    let first = LoadJob(queue + "-first", 900_000)
    try await fleet.enqueue([Self.json(first, "com.example.b")], on: queue)
    _ = try await fleet.record(first.id)
    try await fleet.gateway.fault(#"{"kind":"stall","topic":"com.example.a"}"#)
    let stalled = LoadJob.list(queue + "-a", 3000)
    let others = (0..<200).map { LoadJob(queue + "-b", 500_000 + $0) }
    try await fleet.enqueue(stalled.map { Self.json($0, "com.example.a") }, on: queue)
    try await fleet.enqueue(others.map { Self.json($0, "com.example.b") }, on: queue)
    try await eventually("every job of the other app is delivered") {
      let received = try await fleet.gateway.counts()
      return others.allSatisfy { received[$0.apnsID] ?? 0 > 0 }
    }
    // Each stalled push ends after a time, and another may take its permit: on a slow machine, a few times.
    let stalls = try await fleet.gateway.ledger().stalls
    #expect(stalls < stalled.count / 4)
    let received = try await fleet.gateway.counts()
    #expect(stalled.allSatisfy { received[$0.apnsID] == nil })
    let postponed = try await worker.metric(#"martlet_jobs_put_off_total{app="other"}"#) ?? 0
    let inFlight = try await worker.metric("martlet_pushes_in_flight") ?? 0
    print("200 jobs behind 3000 of a stalled app: \(stalls) sent, \(postponed) postponed, \(inFlight) permits taken")
    #expect(postponed > 2000)
    let waiting = try await fleet.currentRecord(stalled[2999].id)
    #expect(waiting?.status == "retrying")
    #expect(waiting?.reason?.hasPrefix("AppBusy") == true)
    try await eventually("status names the slow app, and only that") {
      let status = try await fleet.martlet("status", environment: ["MARTLET_QUEUES": queue]).lines(of: .output)
      return status.contains { $0.hasPrefix("com.example.a ") } && !status.contains { $0.hasPrefix("com.example.b ") }
    }
    try await fleet.gateway.clearFaults()
    let status = try await fleet.status(of: stalled + others, on: queue)
    status.expectAllAccepted(3200)
    #expect(status.duplicates == 0)
    // To be postponed is no attempt. On a slow machine a few were sent and not answered before.
    var attempts: [Int?] = []
    for job in stalled.suffix(100) { attempts.append(try await fleet.currentRecord(job.id)?.attempts) }
    #expect(attempts.count { $0 == 1 } > 50, "\(attempts)")
    #expect(try await worker.stop() == 0)
  }

  @Test func `a broadcast to a stalled app does not hold up a broadcast to another`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    let queue = fleet.unique("stalled-broadcast")
    let (slow, quick) = ("com.example.slow\(queue)", "com.example.quick\(queue)")
    for app in [slow, quick] {
      try await fleet.register(fleet.uniqueTokens(2000), to: "\(app)-user", bundleID: app)
    }
    let worker = try await fleet.worker(["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"], on: queue)
    // A new connection takes one push until that is answered.
    let first = LoadJob(queue + "-first", 950_000)
    try await fleet.enqueue([Self.json(first, quick)], on: queue)
    _ = try await fleet.record(first.id)
    try await fleet.gateway.fault(#"{"kind":"stall","topic":"\#(slow)"}"#)
    try await fleet.enqueue(
      #"{"id":"\#(queue)-slow","to":{"app":"\#(slow)"},"title":"A"}"#,
      #"{"id":"\#(queue)-quick","to":{"app":"\#(quick)"},"title":"B"}"#, on: queue)
    #expect(try await fleet.record("\(queue)-quick").accepted == 2000)
    #expect(try await fleet.gateway.ledger().stalls < 500)
    try await fleet.gateway.clearFaults()
    #expect(try await fleet.record("\(queue)-slow").accepted == 2000)
    #expect(try await worker.stop() == 0)
  }
}

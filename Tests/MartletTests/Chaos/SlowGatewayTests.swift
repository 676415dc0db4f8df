import FleetSupport
import Foundation
import Redis
import Testing
import TestSupport
@testable import Queue

/// While APNs is slow or answers with errors only, jobs stay in Redis, and afterwards they are delivered without a storm.
@Suite(.serialized) struct SlowGatewayTests {
  private static let fleet = Task { try await Fleet() }

  @Test func `slow answers lower the number of pushes in flight, and quick ones raise it again`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.settings(#"{"rttMs":1500}"#)
    let queue = fleet.unique("slow")
    let worker = try await fleet.worker(["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "128"], on: queue)
    let jobs = LoadJob.list(queue, 3000)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await eventually("the limit is lowered") {
      (try await worker.metric("martlet_concurrency_limit") ?? 128) < 64
    }
    try await fleet.gateway.settings(#"{"rttMs":0}"#)
    try await eventually("the limit is as set again") {
      try await worker.metric("martlet_concurrency_limit") == 128
    }
    let status = try await fleet.status(of: jobs, on: queue)
    status.expectAllAccepted(3000)
    #expect(status.duplicates == 0)
    #expect(worker.count(of: "fewer pushes are sent at once") >= 1)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a gateway that answers 503 gets probes only, the backlog stays, and all is delivered afterwards`()
    async throws
  {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"status","status":503,"reason":"ServiceUnavailable"}"#)
    let queue = fleet.unique("unavailable")
    let worker = try await fleet.worker(["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"], on: queue)
    let jobs = LoadJob.list(queue, 5000)
    try await fleet.enqueue(jobs.map(\.json), on: queue)
    try await worker.process.line("that APNs is paused") { $0.contains("APNs answers every push with an error") }
    // The third probe has failed: the waits were 1, 2 and 4 seconds.
    let burst = try await fleet.gateway.ledger().received
    try await eventually("probes") {
      try await fleet.gateway.ledger().received >= burst + 3
    }
    let received = try await fleet.gateway.ledger().received
    let waiting = try await fleet.redis("LLEN", queue).integer ?? 0
    print("503 only: \(received) pushes received, \(waiting) of 5000 jobs wait untouched")
    #expect(received < 200)
    #expect(waiting > 4000)
    try await fleet.gateway.clearFaults()
    try await worker.process.line("that APNs takes pushes again") {
      $0.contains("APNs takes pushes again")
    }
    let status = try await fleet.status(of: jobs, on: queue)
    status.expectAllAccepted(5000)
    #expect(status.duplicates == 0)
    #expect(try await worker.stop() == 0)
  }
}

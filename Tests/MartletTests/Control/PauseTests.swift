import FleetSupport
import Foundation
import Redis
import Testing
import TestSupport
@testable import Operations
@testable import Queue

/// Operators pause queues and drain workers.
@Suite(.serialized) struct PauseTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  private func queue(_ verb: String, _ name: String, _ arguments: [String] = []) async throws -> [String] {
    let child = try await fleet.martlet(["queue", verb, name] + arguments, environment: ["MARTLET_QUEUES": name])
    #expect(child.exitCode == 0, "\(child.lines)")
    return child.lines(of: .output)
  }

  private func jobs(_ count: Int, prefix: String) -> [[UInt8]] {
    (0..<count).map { number in
      Array(#"{"id":"\#(prefix)-\#(number)","to":{"token":"\#(fleet.uniqueToken())"},"title":"x"}"#.utf8)
    }
  }

  @Test(arguments: ["at-least-once", "at-most-once"])
  func `a paused queue is left alone by waiting workers, also after a restart, until it is resumed`(
    mode: String
  ) async throws {
    let (paused, served) = (fleet.unique("paused"), fleet.unique("served"))
    let settings: [String: String?] = ["MARTLET_DELIVERY": mode, "MARTLET_QUEUES": "\(paused),\(served)"]
    var workers: [FleetWorker] = []
    for _ in 0..<2 { workers.append(try await fleet.worker(settings)) }
    // The workers wait in Redis by now, and are not told before the job arrives.
    let said = try await queue("pause", paused, ["--reason", "a \u{1B}[2J key", "--by", "anna"])
    #expect(said.first?.contains("by anna") == true)
    try await fleet.enqueue(jobs(3, prefix: paused), on: paused)
    try await fleet.enqueue(jobs(3, prefix: served), on: served)
    for number in 0..<3 { _ = try await fleet.record("\(served)-\(number)") }
    try await eventually("the jobs are in their queue again") { try await fleet.waiting(on: paused).count == 3 }
    #expect(try await workers[0].stop() == 0)
    workers[0] = try await fleet.worker(settings)
    try await fleet.enqueue(jobs(3, prefix: "\(served)-later"), on: served)
    for number in 0..<3 { _ = try await fleet.record("\(served)-later-\(number)") }
    try await eventually("the metric shows the pause") {
      try await workers[0].metric("martlet_queue_paused{queue=\"\(paused)\"}") == 1
    }
    #expect(try await fleet.waiting(on: paused).count == 3)
    #expect(try await fleet.gateway.ledger().received == 6)
    let status = try await fleet.martlet("status", environment: ["MARTLET_QUEUES": paused])
    #expect(status.lines.contains { $0.hasPrefix("\(paused) is paused since") && !$0.contains("\u{1B}") })
    let doctor = try await fleet.martlet("doctor", environment: ["MARTLET_QUEUES": paused])
    #expect(doctor.lines.contains { $0.contains("martlet queue resume \(paused)") }, "\(doctor.lines)")
    #expect(try await queue("resume", paused) == ["\(paused) is served"])
    for number in 0..<3 { #expect(try await fleet.record("\(paused)-\(number)").status == "accepted") }
    for worker in workers { #expect(try await worker.stop() == 0) }
    // Each job once, and the question of doctor.
    #expect(try await fleet.gateway.ledger().received == 10)
  }

  @Test func `under load no job is claimed once pause has returned, and none is lost`() async throws {
    let name = fleet.unique("busy")
    var workers: [FleetWorker] = []
    for _ in 0..<3 { workers.append(try await fleet.worker(["MARTLET_CONCURRENCY": "32"], on: name)) }
    try await fleet.gateway.settings(#"{"rttMs":200}"#)
    try await fleet.enqueue(jobs(3000, prefix: name), on: name)
    try await eventually("jobs run") { try await fleet.gateway.ledger().received > 200 }
    _ = try await queue("pause", name)
    let left = try await fleet.waiting(on: name).count
    #expect(left > 0)
    try await eventually("what was in flight has ended") { try await fleet.unsettled(name) == left }
    let sent = try await fleet.gateway.ledger().received
    #expect(sent == 3000 - left)
    try await fleet.gateway.settings(#"{"rttMs":0}"#)
    // Jobs that are enqueued meanwhile wait, too.
    try await fleet.enqueue(jobs(10, prefix: "\(name)-late"), on: name)
    for worker in workers {
      try await eventually("each worker knows") {
        try await worker.metric("martlet_queue_paused{queue=\"\(name)\"}") == 1
      }
    }
    #expect(try await fleet.waiting(on: name).count == left + 10)
    _ = try await queue("resume", name)
    try await fleet.settled(name)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.distinct == 3010)
    #expect(ledger.duplicates == 0)
    for worker in workers { #expect(try await worker.stop() == 0) }
  }

  @Test func `a drained worker claims nothing more, says so, and claims again when it is asked to`() async throws {
    let name = fleet.unique("drained")
    let worker = try await fleet.worker(on: name)
    let control = await FleetQueues([name], connection: fleet.connection)
    #expect(try await control.drain(try worker.name()))
    try await eventually("its report says that it is drained") {
      let report = try await fleet.redis("GET", QueueKeys(queue: name).heartbeat(worker.name())).bytes
      return report.flatMap(WorkerReport.init(json:))?.isDraining == true
    }
    try await fleet.enqueue(jobs(5, prefix: name), on: name)
    let other = try await fleet.worker(on: name)
    for number in 0..<5 {
      #expect(try await fleet.record("\(name)-\(number)").worker == other.name())
    }
    #expect(try await other.stop() == 0)
    try await fleet.enqueue(jobs(1, prefix: "\(name)-late"), on: name)
    #expect(try await worker.get("/readyz").status == 200)
    #expect(try await fleet.waiting(on: name).count == 1)
    #expect(try await control.undrain(try worker.name()))
    #expect(try await fleet.record("\(name)-late-0").worker == worker.name())
    #expect(try await control.drain(try worker.name()))
    try await eventually("it is drained") {
      try await fleet.redis("SISMEMBER", QueueKeys(queue: name).drained, worker.name()).integer == 1
    }
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: [["pause"], ["pause", "a b"], ["pause", "push:result:x"], ["stop", "jobs"], ["pause", "a", "b"]])
  func `a wrong command line changes nothing`(words: [String]) async throws {
    let child = try await fleet.martlet(["queue"] + words)
    #expect(child.exitCode == 2)
  }
}

import FleetSupport
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue
@testable import Policies

/// Several workers, one Redis, one instance.
@Suite(.serialized) struct PolicyFleetTests {
  private static let shared = Task { try await Fleet() }
  private static let infoLog = ["MARTLET_LOG": "info"]
  private let fleet: Fleet
  private let instance: String

  init() async throws {
    fleet = try await Self.shared.value
    instance = fleet.unique("instance")
    try await fleet.gateway.reset()
    try await fleet.register(instance: instance)
  }

  private func enqueue(_ count: Int, _ classes: [String], on queue: String) async throws -> [String] {
    let ids = (0..<count).map { _ in fleet.unique("classed") }
    let jobs = ids.enumerated().map { place, id in
      Array(#"{"id":"\#(id)","to":{"instance":"\#(instance)"},"class":"\#(classes[place % classes.count])"}"#.utf8)
    }
    try await fleet.enqueue(jobs, on: queue)
    return ids
  }

  private func outcomes(_ ids: [String]) async throws -> [String: Int] {
    var outcomes: [String: Int] = [:]
    for id in ids {
      let record = try await fleet.record(id)
      outcomes["\(record.status) \(record.reason ?? "")", default: 0] += 1
    }
    return outcomes
  }

  @Test(
    arguments: [
      (["action_needed"], ["accepted ": 3, "suppressed limit": 597]),
      (["attention_ping", "message_delivered"], ["accepted ": 1, "suppressed collapsed": 599]),
      (["safety_critical"], ["accepted ": 1, "suppressed spacing": 599]),
    ])
  func `three workers keep the limits of one instance together`(classes: [String], expected: [String: Int]) async throws
  {
    let queue = fleet.unique("jobs")
    // Many small claims at once make the workers conflict.
    let few = Self.infoLog.merging(["MARTLET_CONCURRENCY": "8"]) { $1 }
    var workers: [FleetWorker] = []
    for _ in 0..<3 { workers.append(try await fleet.worker(few, on: queue)) }
    let ids = try await enqueue(600, classes, on: queue)
    #expect(try await outcomes(ids) == expected)
    #expect(try await fleet.gateway.ledger().received == expected["accepted "])
    for worker in workers { #expect(try await worker.stop() == 0) }
  }

  @Test func `a job whose worker is killed after the decision has one grant`() async throws {
    let queue = fleet.unique("jobs")
    try await fleet.gateway.fault(#"{"kind":"stall"}"#)
    let worker = try await fleet.worker(Self.infoLog, on: queue)
    let ids = try await enqueue(3, ["action_needed"], on: queue)
    try await eventually("all three are let through") {
      try await fleet.policyState(of: instance)?.grants.count == 3
    }
    let granted = try await fleet.policyState(of: instance)?.grants.map(\.job)
    // This includes the job that a waiting claim received without an envelope.
    let inflight = try await fleet.redis(
      "LRANGE", QueueKeys(queue: queue).inflight(try worker.name()), "0", "-1"
    ).array?.compactMap(\.bytes)
    #expect(Set(inflight?.map { Envelope(element: $0).nonce } ?? []) == Set(granted ?? []))
    try await worker.kill()
    try await fleet.forgetHeartbeat(of: worker)
    try await fleet.gateway.clearFaults()
    let next = try await fleet.worker(Self.infoLog, on: queue)
    #expect(try await outcomes(ids) == ["accepted ": 3])
    let state = try await fleet.policyState(of: instance)
    #expect(Set(state?.grants.map(\.job) ?? []) == Set(granted ?? ["none"]))
    #expect(state?.grants.count == 3)
    #expect(try await fleet.deliver("action_needed", to: instance, on: queue).reason == "limit")
    #expect(try await next.stop() == 0)
  }
}

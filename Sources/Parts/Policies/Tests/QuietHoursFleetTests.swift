import FleetSupport
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue
@testable import Policies

/// Workers in quiet hours around the current time.
@Suite(.serialized) struct QuietHoursFleetTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let instance: String

  init() async throws {
    fleet = try await Self.shared.value
    instance = fleet.unique("instance")
    try await fleet.gateway.reset()
    try await fleet.register(instance: instance)
  }

  private func due(_ queue: String) async throws -> [Int64] {
    let entries =
      try await fleet.redis("ZRANGE", QueueKeys(queue: queue).scheduled, "0", "-1", "WITHSCORES").array ?? []
    return entries.enumerated().filter { $0.offset % 2 == 1 }.compactMap { Int64($0.element.string ?? "") }
  }

  @Test(arguments: ["UTC", "Asia/Tokyo", "Asia/Kolkata"])
  func `quiet hours follow the local time of the zone`(zone: String)
    async throws
  {
    let hours = try fleet.hoursAroundNow(in: zone)
    let worker = try await fleet.worker(["MARTLET_QUIET_HOURS": hours.text, "MARTLET_TIME_ZONE": zone])
    let queue = worker.queue
    let list = fleet.unique("reply")
    #expect(try await fleet.deliver("attention_ping", to: instance, #","ttl":60"#, on: queue).reason == "quiet_hours")
    let first = try await fleet.enqueue("attention_ping", to: instance, #","replyTo":"\#(list)""#, on: queue)
    let held = try await fleet.record(first, "held") { $0.status == "deferred" }
    #expect(held.reason == "quiet_hours")
    #expect(try await due(queue) == [hours.end])
    let second = try await fleet.deliver("message_delivered", to: instance, on: queue)
    #expect(second.status == "suppressed")
    #expect(second.reason == "collapsed")
    let action = try await fleet.deliver("action_needed", to: instance, on: queue)
    #expect(action.status == "suppressed")
    #expect(action.reason == "quiet_hours")
    #expect(try await fleet.deliver("safety_critical", to: instance, on: queue).status == "accepted")
    #expect(try await fleet.redis("EXISTS", list).integer == 0)
    #expect(try await fleet.gateway.ledger().received == 1)
    try await worker.stop()
  }

  @Test func `a held job is not a failure`() async throws {
    let hours = try fleet.hoursAroundNow(in: "UTC")
    let worker = try await fleet.worker([
      "MARTLET_QUIET_HOURS": hours.text, "MARTLET_TIME_ZONE": "UTC", "MARTLET_RESULTS": "failures",
    ])
    let held = try await fleet.enqueue("attention_ping", to: instance, on: worker.queue)
    let second = try await fleet.deliver("attention_ping", to: instance, on: worker.queue)
    #expect(second.reason == "collapsed")
    #expect(try await fleet.currentRecord(held) == nil)
    #expect(try await due(worker.queue) == [hours.end])
    try await worker.stop()
  }

  @Test func `another time zone has other quiet hours`() async throws {
    let hours = try fleet.hoursAroundNow(in: "UTC")
    let worker = try await fleet.worker(["MARTLET_QUIET_HOURS": hours.text, "MARTLET_TIME_ZONE": "Asia/Tokyo"])
    #expect(try await fleet.deliver("attention_ping", to: instance, on: worker.queue).status == "accepted")
    try await worker.stop()
  }

  @Test func `a worker without MARTLET_TIME_ZONE uses TZ`() async throws {
    let hours = try fleet.hoursAroundNow(in: "Asia/Tokyo")
    let worker = try await fleet.worker(["MARTLET_QUIET_HOURS": hours.text, "TZ": "JST-9"])
    let action = try await fleet.deliver("action_needed", to: instance, on: worker.queue)
    #expect(action.reason == "quiet_hours")
    try await worker.stop()
  }

  @Test func `a deferred job survives kill -9 of its worker and is sent once when quiet hours end`() async throws {
    let hours = try fleet.hoursAroundNow(in: "UTC")
    let quiet = ["MARTLET_QUIET_HOURS": hours.text, "MARTLET_TIME_ZONE": "UTC"]
    let worker = try await fleet.worker(quiet)
    let queue = worker.queue
    let id = try await fleet.enqueue("attention_ping", to: instance, on: queue)
    _ = try await fleet.record(id, "held") { $0.status == "deferred" }
    try await worker.kill()
    // A job that runs too early is held again.
    let second = try await fleet.worker(quiet, on: queue)
    try await fleet.wakeScheduled(queue)
    _ = try await fleet.record(id, "held by another worker") {
      (try? second.name()) == $0.worker && $0.status == "deferred"
    }
    #expect(try await due(queue) == [hours.end])
    try await second.kill()
    let day = try await fleet.worker(on: queue)
    try await fleet.wakeScheduled(queue)
    #expect(try await fleet.record(id).status == "accepted")
    #expect(try await fleet.gateway.ledger().received == 1)
    #expect(try await fleet.policyState(of: instance)?.held == nil)
    try await fleet.settled(queue)
    // It could be polled from the time when it was held on, and once.
    let polled = try await fleet.redis("XRANGE", QueueKeys.instanceNotifications(instance), "-", "+").array ?? []
    #expect(polled.count == 1)
    #expect(polled.first?.array?.last?.array?.last?.string?.contains(#""status":"deferred""#) == true)
    try await day.stop()
  }

  @Test func `a worker that dies between its decision and the settlement does not change the result`() async throws {
    let hours = try fleet.hoursAroundNow(in: "UTC")
    let worker = try await fleet.worker(["MARTLET_QUIET_HOURS": hours.text, "MARTLET_TIME_ZONE": "UTC"])
    let nonce = fleet.unique("nonce")
    let id = fleet.unique("classed")
    try await fleet.redis(
      "SET", PolicyKeys.state("nyra", instance: instance),
      #"{"grants":[],"held":{"job":"\#(nonce)","until":\#(hours.end)}}"#)
    let job = #"{"id":"\#(id)","to":{"instance":"\#(instance)"},"class":"attention_ping"}"#
    try await fleet.enqueue(Envelope(crashes: 1, nonce: nonce, job: Array(job.utf8)), on: worker.queue)
    _ = try await fleet.record(id, "held") { $0.status == "deferred" }
    #expect(try await fleet.policyState(of: instance)?.held?.job == nonce)
    try await worker.stop()
  }
}

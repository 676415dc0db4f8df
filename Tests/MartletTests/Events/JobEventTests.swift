import FleetSupport
import Foundation
import Jobs
import JSON
import Redis
import Testing
import TestSupport

@testable import Queue

/// The events of jobs, on one server and on a cluster.
@Suite(.serialized) struct JobEventTests {
  private static let fleet = Task { try await Fleet() }
  private static let stream = ["MARTLET_EVENTS": "stream"]
  private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  /// Waits for the events of a job, and returns the types and the reasons.
  private func events(_ fleet: Fleet, _ id: String, count: Int = 1) async throws -> [JSONValue] {
    var events: [JSONValue] = []
    try await eventually("\(count) events of \(id)") {
      events = try await fleet.events(ofJob: id)
      return events.count >= count
    }
    return events
  }

  private func sendEveryKind(_ fleet: Fleet, _ prefix: String) async throws {
    let queue = fleet.unique(prefix)
    let worker = try await fleet.worker(Self.stream, on: queue)
    let (good, stale, member) = (fleet.uniqueToken(), fleet.uniqueToken(), fleet.uniqueToken())
    let app = "com.example.\(prefix)"
    try await fleet.register([stale], to: "\(prefix)-bob", bundleID: "com.example.demo")
    try await fleet.register([member], to: "\(prefix)-carol", bundleID: app)
    try await fleet.gateway.device(stale, #""rule":"unregistered","since":1900000000000"#)
    try await fleet.enqueue(
      #"{"id":"\#(prefix)-good","to":{"token":"\#(good)"},"title":"a"}"#,
      #"{"id":"\#(prefix)-failed","to":{"user":"\#(prefix)-bob"},"title":"a","trace":"\#(Self.trace)"}"#,
      #"{"id":"\#(prefix)-typo","to":{"user":"bob"},"titel":"a"}"#,
      #"{"id":"\#(prefix)-all","to":{"app":"\#(app)"},"title":"a"}"#, on: queue)
    for id in ["good", "failed", "typo", "all"] { _ = try await fleet.record("\(prefix)-\(id)") }

    let failed = try await events(fleet, "\(prefix)-failed")
    #expect(failed.map { $0["type"]?.string } == ["job.failed"])
    #expect(failed[0]["data"]?["queue"]?.string == queue)
    #expect(failed[0]["data"]?["trace"]?.string == Self.trace)
    #expect(failed[0]["data"]?["reasons"]?["Unregistered"]?.count == 1)
    var removed: [JSONValue] = []
    // The device is removed beside the end of the job.
    try await eventually("the device is removed") {
      removed = try await fleet.events { $0["data"]?["token"]?.string == stale }
      return !removed.isEmpty
    }
    #expect(removed.map { $0["type"]?.string } == ["token.removed"])
    #expect(removed.first?["data"]?["reason"]?.string == "Unregistered")
    #expect(removed.first?["data"]?["user"]?.string == "\(prefix)-bob")
    let typo = try await events(fleet, "\(prefix)-typo")
    #expect(typo.map { $0["type"]?.string } == ["job.dead"])
    #expect(typo[0]["data"]?["reason"]?.string?.contains("titel") == true)
    let all = try await events(fleet, "\(prefix)-all")
    #expect(all.map { $0["type"]?.string } == ["broadcast.finished"])
    #expect(all[0]["data"]?["accepted"]?.count == 1)
    #expect(all[0]["data"]?["status"]?.string == "accepted")
    #expect(try await fleet.events(ofJob: "\(prefix)-good").isEmpty)
    #expect(try await worker.metric(#"martlet_events_total{type="job.dead"}"#) == 1)
    #expect(try await worker.stop() == 0)
  }

  @Test func `each kind of job has its event`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await sendEveryKind(fleet, "kinds")
  }

  @Test func `each kind of job has its event on a cluster`() async throws {
    let cluster = try await RedisCluster(replicas: 0)
    let fleet = try await Fleet(cluster: cluster)
    try await sendEveryKind(fleet, "slots")
  }

  @Test func `a job that is too large is dead`() async throws {
    let fleet = try await Self.fleet.value
    let queue = fleet.unique("large")
    let worker = try await fleet.worker(Self.stream, on: queue)
    let id = fleet.unique("large-job")
    let filler = String(repeating: "x", count: Job.maximumBytes)
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"a"},"title":"\#(filler)"}"#, on: queue)
    let found = try await events(fleet, id)
    #expect(found.map { $0["type"]?.string } == ["job.dead"])
    #expect(found[0]["data"]?["queue"]?.string == queue)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a job at most once whose worker dies is uncertain`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.fault(#"{"kind":"stall","processed":true}"#)
    let queue = fleet.unique("uncertain")
    let victim = try await fleet.worker(Self.stream, on: queue)
    let id = fleet.unique("uncertain-job")
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"a","atMostOnce":true}"#, on: queue)
    try await eventually("the push is in flight") { try await fleet.gateway.ledger().accepted == 1 }
    try await victim.kill()
    try await fleet.forgetHeartbeat(of: victim)
    try await fleet.gateway.clearFaults()
    let heir = try await fleet.worker(Self.stream, on: queue)
    let found = try await events(fleet, id)
    #expect(found.map { $0["type"]?.string } == ["job.uncertain"])
    #expect(try await heir.stop() == 0)
  }

  @Test func `a job that kills every worker is dead`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    let queue = fleet.unique("poison")
    let elsewhere = ["APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:\(try freePort())"]
    let promoter = try await fleet.worker(Self.stream.merging(elsewhere) { $1 }, on: queue, isReady: false)
    let id = fleet.unique("poison-job")
    let job = Array(#"{"id":"\#(id)","to":{"user":"a"},"title":"a"}"#.utf8)
    let keys = QueueKeys(queue: queue)
    // A worker that died with a job that had crashed three workers before.
    var envelope = Envelope(element: Array("MARTLET1 3 0 nonce-1 0\n".utf8) + job)
    envelope.crashes = 3
    try await fleet.pipelined([envelope.element]) { [.init("LPUSH", keys.inflight("dead-worker")).with($0)] }
    try await fleet.redis("SADD", keys.workers, "dead-worker")
    let found = try await events(fleet, id)
    #expect(found.map { $0["type"]?.string } == ["job.dead"])
    #expect(found[0]["data"]?["reason"]?.string == "crashed 4 workers in a row")
    #expect(try await promoter.stop() == 0)
  }

  @Test func `a paused route`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    try await fleet.gateway.settings(#"{"topics":["com.example.demo"]}"#)
    let queue = fleet.unique("paused")
    let worker = try await fleet.worker(Self.stream, on: queue)
    let app = "com.example.\(queue)"
    try await fleet.enqueue(
      #"{"to":{"token":"\#(fleet.uniqueToken())"},"app":"\#(app)","title":"a"}"#, on: queue)
    var found: [JSONValue] = []
    try await eventually("the route is paused") {
      found = try await fleet.events { $0["data"]?["topic"]?.string == app }
      return !found.isEmpty
    }
    #expect(found.map { $0["type"]?.string } == ["route.paused"])
    #expect(found[0]["data"]?["reason"]?.string == "TopicDisallowed")
    #expect(found[0]["data"]?["fix"]?.string?.contains("bundle id") == true)
    #expect(try await worker.stop() == 0)
    try await fleet.gateway.reset()
  }

  @Test func `a stream of another type keeps no job in flight`() async throws {
    let fleet = try await Fleet()
    try await fleet.redis("SET", "push:events", "x")
    let queue = fleet.unique("wrong")
    let worker = try await fleet.worker(Self.stream, on: queue)
    try await fleet.enqueue(#"{"id":"wrong-typo","titel":"a"}"#, on: queue)
    _ = try await fleet.record("wrong-typo")
    try await fleet.settled(queue)
    #expect(try await worker.metric("martlet_events_refused_total") == 1)
    #expect(try await worker.lines(with: "events were lost because Redis refused them").count == 1)
    let doctor = try await fleet.martlet("doctor")
    #expect(doctor.lines.contains { $0.contains("push:events is a string, not a stream") })
    #expect(try await worker.stop() == 0)
  }
}

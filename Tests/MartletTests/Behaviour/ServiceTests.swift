import PushModel
import FleetSupport
import Foundation
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// The settings, readiness, metrics and modes of a worker.
@Suite(.serialized) struct ServiceTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  @Test func `without APNs settings jobs are unsent and can be polled`() async throws {
    let (user, id) = (fleet.unique("alice"), fleet.unique("poll"))
    try await fleet.register(fleet.uniqueToken(), to: user)
    let worker = try await fleet.worker(isPollingOnly: true)
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Hello"}"#, on: worker.queue)
    #expect(try await fleet.record(id).status == "unsent")
    let stream = try await fleet.redis("XRANGE", QueueKeys.notifications(Username(user)), "-", "+").array ?? []
    #expect(stream.count == 1)
    let fields = try #require(stream.first?.array?.last?.array)
    let record = String(decoding: fields.compactMap(\.bytes).last ?? [], as: UTF8.self)
    #expect(record.contains("\"id\":\"\(id)\""))
    #expect(record.contains("\"status\":\"unsent\""))
    #expect(record.contains("\"title\":\"Hello\""))
    #expect(try await fleet.redis("TTL", QueueKeys.notifications(Username(user))).integer ?? 0 > 29 * 86_400)
    #expect(worker.process.lines.filter { $0.contains("polling-only mode") }.count == 1)
    #expect(try await fleet.gateway.ledger().received == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: [("unsent", 0, 1), ("all", 1, 1), ("off", 0, 0)])
  func `MARTLET_NOTIFICATION_LOG selects the records for polling`(choice: String, ofSent: Int, ofUnsent: Int)
    async throws
  {
    for (isPollingOnly, expected) in [(false, ofSent), (true, ofUnsent)] {
      let (user, id) = (fleet.unique("reader"), fleet.unique("kept"))
      try await fleet.register(fleet.uniqueToken(), to: user)
      let worker = try await fleet.worker(["MARTLET_NOTIFICATION_LOG": choice], isPollingOnly: isPollingOnly)
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Hello"}"#, on: worker.queue)
      #expect(try await fleet.record(id).status == (isPollingOnly ? "unsent" : "accepted"))
      #expect(try await fleet.redis("XLEN", QueueKeys.notifications(Username(user))).integer == Int64(expected))
      try await worker.stop()
    }
  }

  @Test func `a payload that is too large for APNs can still be polled`() async throws {
    let (user, id) = (fleet.unique("large"), fleet.unique("large"))
    try await fleet.register(fleet.uniqueToken(), to: user)
    let worker = try await fleet.worker()
    let body = String(repeating: "x", count: 5000)
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"body":"\#(body)"}"#, on: worker.queue)
    #expect(try await fleet.record(id).status == "dead")
    let stream = try await fleet.redis("XRANGE", QueueKeys.notifications(Username(user)), "-", "+").array ?? []
    let fields = try #require(stream.first?.array?.last?.array)
    let record = String(decoding: fields.compactMap(\.bytes).last ?? [], as: UTF8.self)
    #expect(record.contains(body))
    try await worker.stop()
  }

  @Test func `an outage of APNs leaves a worker ready, and jobs wait in Redis meanwhile`() async throws {
    let worker = try await fleet.worker()
    #expect(try await worker.get("/healthz").status == 200)
    #expect(try await worker.get("/nothing").status == 404)
    try await fleet.gateway.fault(#"{"kind":"acceptStall"}"#)
    try await fleet.gateway.closeConnections()
    try await worker.withoutAPNs()
    #expect(try await worker.get("/healthz").status == 200)
    let id = fleet.unique("wait")
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello"}"#, on: worker.queue)
    try await fleet.gateway.clearFaults()
    try await worker.ready()
    let record = try await fleet.record(id)
    #expect(record.status == "accepted")
    #expect(record.attempts == 1)
    try await worker.stop()
  }

  @Test func `metrics count jobs and pushes`() async throws {
    let worker = try await fleet.worker()
    let bad = fleet.uniqueToken()
    try await fleet.gateway.device(bad, #""rule":"bad""#)
    for token in [fleet.uniqueToken(), fleet.uniqueToken(), bad] {
      try await fleet.enqueue(#"{"to":{"token":"\#(token)"},"title":"Hello"}"#, on: worker.queue)
    }
    try await fleet.enqueue("{", on: worker.queue)
    try await fleet.settled(worker.queue)
    #expect(try await worker.metric(#"martlet_jobs_total{status="accepted"}"#) == 2)
    #expect(try await worker.metric(#"martlet_jobs_total{status="failed"}"#) == 1)
    #expect(try await worker.metric(#"martlet_jobs_total{status="dead"}"#) == 1)
    #expect(try await worker.metric("martlet_job_seconds_count") == 4)
    let reasons = try await worker.get("/metrics").body.split(separator: "\n").filter { $0.contains("BadDeviceToken") }
    #expect(reasons.count == 1 && reasons[0].hasSuffix(" 1"), "\(reasons)")
    try await worker.stop()
  }

  @Test func `with one permit, jobs are sent in the order of the queues and in each queue`() async throws {
    let queues = ["high", "middle", "low"].map { fleet.unique($0) }
    var expected: [String] = []
    for queue in queues {
      let tokens = fleet.uniqueTokens(15)
      expected += tokens
      try await fleet.enqueue(tokens.map { Array(#"{"to":{"token":"\#($0)"},"title":"Hello"}"#.utf8) }, on: queue)
    }
    let worker = try await fleet.worker([
      "MARTLET_QUEUES": queues.joined(separator: ","), "MARTLET_CONCURRENCY": "1",
    ])
    for queue in queues { try await fleet.settled(queue) }
    #expect(try await fleet.gateway.recent().compactMap(\.token) == expected)
    try await worker.stop()
  }

  @Test func `at most once, jobs are delivered and leave nothing in flight`() async throws {
    let worker = try await fleet.worker(["MARTLET_DELIVERY": "at-most-once"])
    let ids = (0..<200).map { _ in fleet.unique("once") }
    try await fleet.enqueue(
      ids.map { Array(#"{"id":"\#($0)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello"}"#.utf8) },
      on: worker.queue)
    for id in ids { #expect(try await fleet.record(id).status == "accepted") }
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.received == 200)
    #expect(ledger.duplicates == 0)
    #expect(try await fleet.redis("KEYS", "martlet:{\(worker.queue)}:inflight:*").array == [])
    #expect(try await worker.stop() == 0)
  }

  @Test func `all faults of settings are reported at once, without secrets`() async throws {
    let child = try await fleet.martlet(
      "worker",
      environment: [
        "REDIS_URL": "http://redis", "MARTLET_CONCURRENCY": "none", "MARTLET_DELIVERY": "twice", "APNS_KEY_ID": nil,
        "MARTLET_RESULT_TTL": "soon", "MARTLET_ADMIN_ADDRESS": "nowhere", "APNS_ENDPOINT_OVERRIDE": "http://plain",
      ])
    #expect(child.exitCode == 2)
    let text = child.lines.joined(separator: "\n")
    for name in [
      "REDIS_URL", "MARTLET_CONCURRENCY", "MARTLET_DELIVERY", "APNS_KEY_ID", "MARTLET_RESULT_TTL",
      "MARTLET_ADMIN_ADDRESS", "APNS_ENDPOINT_OVERRIDE",
    ] { #expect(text.contains(name)) }
    #expect(!text.contains("PRIVATE KEY-----"))
  }

  @Test(arguments: ["worker", "sidecar", "all"], [true, false])
  func `each service logs once at its start whether APNs is configured`(command: String, isPolling: Bool) async throws {
    let environment = fleet.environment(
      ["MARTLET_HTTP_ADDRESS": "127.0.0.1:0", "MARTLET_QUEUES": fleet.unique("jobs")], isPollingOnly: isPolling)
    let child = try ChildProcess(try builtProduct("martlet"), [command], environment: environment)
    try await child.line("its start") { $0.contains(command == "sidecar" ? "sidecar listens" : "worker starts") }
    try await child.stop()
    let (enabled, polling) = ("APNs push notifications enabled", "APNs not configured: polling-only mode")
    #expect(child.lines.filter { $0.contains(enabled) }.count == (isPolling ? 0 : 1))
    #expect(child.lines.filter { $0.contains(polling) }.count == (isPolling ? 1 : 0))
  }
}

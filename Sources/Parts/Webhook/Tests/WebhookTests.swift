import EventLoop
import Events
import FleetSupport
import Foundation
import HTTPServer
import JSON
import Redis
import Testing
import TestSupport

@testable import Webhook

/// Workers that send events to a receiver. Each test has a Redis of its own, because there is one stream.
@Suite(.serialized) struct WebhookTests {
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  private func settings(_ url: String) -> [String: String] {
    ["MARTLET_WEBHOOK_URL": url, "MARTLET_WEBHOOK_SECRET": Self.secret]
  }

  /// Invalid jobs, each of which is an event.
  private func enqueue(_ ids: [String], _ fleet: Fleet, on queue: String) async throws {
    try await fleet.enqueue(ids.map { Array(#"{"id":"\#($0)","titel":"a"}"#.utf8) }, on: queue)
  }

  private func state(_ fleet: Fleet) async throws -> WebhookState? {
    try await fleet.redis("GET", WebhookKeys.state).bytes.flatMap(WebhookState.init(json:))
  }

  @Test func `events arrive signed, in their order, and once`() async throws {
    let fleet = try await Fleet()
    let sink = try await WebhookSink.started()
    let queue = fleet.unique("hook")
    let worker = try await fleet.worker(settings(await sink.url), on: queue)
    let ids = (0..<250).map { "job-\($0)" }
    try await enqueue(ids, fleet, on: queue)
    try await eventually("all events arrive") { await sink.accepted.count >= 250 }
    #expect(await sink.accepted == ids.map { "job.dead \($0)" })
    for delivery in await sink.deliveries {
      let expected = try #require(WebhookSecret(Self.secret)).signature(
        id: delivery.id, timestamp: Int64(delivery.timestamp) ?? 0, body: delivery.body)
      #expect(delivery.signature == expected)
    }
    #expect(await sink.deliveries.count >= 3)
    try await eventually("the cursor is stored") { try await state(fleet)?.delivered == 250 }
    #expect(try await worker.metric("martlet_webhook_events_delivered_total") == 250)
    #expect(try await worker.metric("martlet_webhook_lag_seconds") == 0)
    let status = try await fleet.martlet("status", environment: ["MARTLET_QUEUES": queue])
    #expect(status.lines.contains("webhook: 250 events delivered"))
    #expect(try await worker.stop() == 0)
  }

  @Test func `a receiver that fails gets the same batch again, and no job waits for it`() async throws {
    let fleet = try await Fleet()
    let sink = try await WebhookSink.started()
    await set(sink) {
      $0 < 2 ? HTTPResponse(status: 500, body: Array(repeating: 0xFF, count: 200_000)) : HTTPResponse(status: 200)
    }
    let queue = fleet.unique("failing")
    let worker = try await fleet.worker(settings(await sink.url), on: queue)
    try await enqueue(["first"], fleet, on: queue)
    try await eventually("the receiver has refused") { await sink.deliveries.count >= 1 }
    try await enqueue(["second"], fleet, on: queue)
    _ = try await fleet.record("second")
    try await eventually("all events arrive") { await sink.accepted.count >= 2 }
    #expect(await sink.accepted == ["job.dead first", "job.dead second"])
    let first = await sink.deliveries.prefix(3)
    #expect(Set(first.map(\.id)).count == 1)
    #expect(Set(first.map(\.body)).count == 1)
    #expect(worker.count(of: "the webhook does not accept events") == 1)
    #expect(try await worker.lines(with: "the webhook accepts events again").count == 1)
    #expect(try await worker.metric("martlet_webhook_failures_total") == 2)
    #expect(try await worker.stop() == 0)
  }

  @Test func `410 parks the webhook, and status, doctor, metric and log say so`() async throws {
    let fleet = try await Fleet()
    let sink = try await WebhookSink.started()
    await set(sink) { _ in HTTPResponse(status: 410) }
    let queue = fleet.unique("gone")
    let worker = try await fleet.worker(settings(await sink.url), on: queue)
    try await enqueue(["gone"], fleet, on: queue)
    try await eventually("the webhook is paused") { try await state(fleet)?.failure?.isPaused == true }
    #expect(try await worker.metric("martlet_webhook_paused") == 1)
    #expect(try await worker.lines(with: "the webhook is paused").count == 1)
    let status = try await fleet.martlet("status", environment: ["MARTLET_QUEUES": queue])
    #expect(status.lines.contains { $0.contains("paused for") && $0.contains("HTTP 410") })
    let json = try await fleet.martlet("status", "--json", environment: ["MARTLET_QUEUES": queue])
    #expect(json.lines.contains { $0.contains(#""answer":"HTTP 410","paused":true"#) })
    let doctor = try await fleet.martlet("doctor", environment: ["MARTLET_QUEUES": queue])
    #expect(doctor.lines.contains { $0.hasPrefix("fail") && $0.contains("webhook") && $0.contains("HTTP 410") })
    #expect(try await worker.stop() == 0)
  }

  @Test func `kill -9 of the worker that sends: another one continues, and nothing is lost`() async throws {
    let fleet = try await Fleet()
    let sink = try await WebhookSink.started()
    let queue = fleet.unique("takeover")
    let sender = try await fleet.worker(settings(await sink.url), on: queue)
    try await enqueue(["before"], fleet, on: queue)
    try await eventually("the sender works") { await sink.accepted.count == 1 }
    let other = try await fleet.worker(settings(await sink.url), on: queue)
    // The receiver gets a batch, does not answer, and its sender dies.
    await set(sink) { _ in nil }
    try await enqueue(["in-hand"], fleet, on: queue)
    try await eventually("a batch is on its way") { await sink.deliveries.count >= 2 }
    try await sender.kill()
    try await fleet.forgetHeartbeat(of: sender)
    await set(sink) { _ in HTTPResponse(status: 204) }
    try await enqueue(["after"], fleet, on: queue)
    try await eventually("the other one sends") { await sink.accepted.count >= 3 }
    #expect(await sink.accepted == ["job.dead before", "job.dead in-hand", "job.dead after"])
    let batches = await sink.deliveries.filter { $0.events.first == "job.dead in-hand" }
    #expect(batches.count >= 2)
    #expect(Set(batches.map(\.id)).count == 1)
    #expect(Set(batches.map(\.body)).count == 1)
    #expect(try await other.stop() == 0)
  }

  @Test func `events that were deleted before they were sent are told`() async throws {
    let fleet = try await Fleet()
    let sink = try await WebhookSink.started()
    let queue = fleet.unique("gap")
    let worker = try await fleet.worker(settings(await sink.url), on: queue)
    try await enqueue(["kept"], fleet, on: queue)
    // A worker that stops before that leaves the event to the next one, which finds it deleted.
    try await eventually("the cursor is stored") { try await state(fleet)?.delivered == 1 }
    #expect(try await worker.stop() == 0)
    for number in 0..<10 {
      let event = #"{"type":"job.dead","at":1,"data":{"id":"late-\#(number)"}}"#
      try await fleet.redis("XADD", EventStream.key, "*", "event", event)
    }
    try await fleet.redis("XTRIM", EventStream.key, "MAXLEN", "=", "4")
    let heir = try await fleet.worker(settings(await sink.url), on: queue)
    try await eventually("the rest arrives") { await sink.accepted.count >= 5 }
    let body = try #require(await sink.deliveries.last?.body)
    let gap = try JSONValue(parsing: body)["data"]?["gap"]
    #expect(gap?["lost"] == (try await RedisServer.version().lexicographicallyPrecedes([7, 0]) ? .null : .integer(6)))
    #expect(try await heir.lines(with: "events were deleted from push:events").count == 1)
    #expect(try await heir.stop() == 0)
  }

  @Test func `a Redis that loses its latest changes does not have everything sent again`() async throws {
    let fleet = try await Fleet()
    let sink = try await WebhookSink.started()
    let queue = fleet.unique("failover")
    let worker = try await fleet.worker(settings(await sink.url), on: queue)
    try await enqueue(["kept"], fleet, on: queue)
    try await eventually("the cursor is stored") { try await state(fleet)?.delivered == 1 }
    let keys = [EventStream.key, WebhookKeys.state]
    for key in keys { try await fleet.redis("COPY", key, "copy:\(key)") }
    try await enqueue(["lost"], fleet, on: queue)
    try await eventually("the cursor is stored") { try await state(fleet)?.delivered == 2 }
    // As after a failover: the new server has the stream and the state of a moment ago, and writes events.
    try await fleet.redis(
      "EVAL",
      """
      for _, key in ipairs(KEYS) do redis.call('COPY', 'copy:' .. key, key, 'REPLACE') end
      """, "2", keys[0], keys[1])
    try await eventually("the loss is noticed") { worker.count(of: "Redis has lost its latest changes") == 1 }
    try await enqueue(["after"], fleet, on: queue)
    try await eventually("the next event arrives") { await sink.accepted.contains("job.dead after") }
    #expect(await sink.accepted == ["job.dead kept", "job.dead lost", "job.dead after"])
    try await eventually("the cursor is stored") { try await state(fleet)?.delivered == 2 }
    #expect(worker.count(of: "Redis has lost its latest changes") == 1)
    #expect(try await worker.stop() == 0)
  }

  @Test func `the example in Python verifies signatures and hands each event on once`() async throws {
    let fleet = try await Fleet()
    let directory = try TemporaryDirectory()
    let port = try freePort()
    let program = URL(filePath: #filePath).appending(path: "../../../../../docs/examples/webhook_receiver.py")
    func receiver() throws -> ChildProcess {
      try ChildProcess(
        "python3", [program.standardizedFileURL.path(), "\(port)", "\(directory.path)/events.sqlite"],
        environment: ["MARTLET_WEBHOOK_SECRET": Self.secret])
    }
    var python = try receiver()
    try await python.line("its port") { $0.contains("listens") }
    let queue = fleet.unique("python")
    let worker = try await fleet.worker(settings("http://127.0.0.1:\(port)/"), on: queue)
    try await enqueue(["one", "two"], fleet, on: queue)
    try await python.line("the second event") { $0.contains(#""id": "two""#) }
    #expect(python.lines(of: .output).count == 2)

    // The same batch again, as after a lost answer: accepted, and not handled again.
    try await eventually("the events are accepted") { try await state(fleet)?.delivered == 2 }
    try await python.stop()
    python = try receiver()
    try await python.line("its port") { $0.contains("listens") }
    #expect(try await worker.stop() == 0)
    try await fleet.redis("DEL", WebhookKeys.state)
    let heir = try await fleet.worker(settings("http://127.0.0.1:\(port)/"), on: queue)
    try await eventually("the events are accepted again") { try await state(fleet)?.delivered == 2 }
    #expect(python.lines(of: .output).isEmpty)
    #expect(try await heir.stop() == 0)

    let body =
      #"{"type":"events","timestamp":"2026-11-22T10:00:00.000Z","data":{"events":[{"id":"9-9","type":"x","at":1,"data":{}}]}}"#
    let now = Int64(Date().timeIntervalSince1970)
    for (signed, timestamp, status) in [
      (body, now, "204"), (body + " ", now, "401"), (body, now - 3600, "401"), (body, now + 3600, "401"),
    ] {
      let signature = try #require(WebhookSecret(Self.secret)).signature(
        id: "evt_x", timestamp: timestamp, body: Array(signed.utf8))
      let answer = try await ChildProcess.run(
        "curl",
        [
          "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", "webhook-id: evt_x", "-H",
          "webhook-timestamp: \(timestamp)", "-H", "webhook-signature: \(signature)", "--data-binary", body,
          "http://127.0.0.1:\(port)/",
        ])
      #expect(answer == status)
    }
    let unsigned = try await ChildProcess.run(
      "curl", ["-sS", "-o", "/dev/null", "-w", "%{http_code}", "-d", body, "http://127.0.0.1:\(port)/"])
    #expect(unsigned == "401")
    try await python.stop()
  }

  @EventLoop private func set(_ sink: WebhookSink, _ answer: @escaping @EventLoop @Sendable (Int) -> HTTPResponse?) {
    sink.answer = answer
  }

  @Test func `a worker with a webhook goes on from any state of it`() async throws {
    let fleet = try await Fleet()
    let sink = try await WebhookSink.started()
    let settings = await [
      "MARTLET_WEBHOOK_URL": sink.url, "MARTLET_WEBHOOK_SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ]
    let state =
      #"{"cursor":"0-0","position":N,"delivered":N,"lost":N,"gap":{"lost":N},"batch":{"first":"0-1","last":"0-2","count":N},"#
      + #""failure":{"since":N,"attempts":N,"nextAttemptAt":N,"answer":"","paused":false}}"#
    for number in Fleet.hostileNumbers {
      _ = try await fleet.redis("SET", WebhookKeys.state, state.replacing("N", with: number))
      let queue = fleet.unique("hook")
      let worker = try await fleet.worker(settings, on: queue)
      try await fleet.enqueue(#"{"id":"\#(queue)","titel":"a"}"#, on: queue)
      try await eventually(within: .seconds(180), "the event arrives after \(number)") {
        await sink.accepted.contains("job.dead \(queue)")
      }
      let status = try await fleet.martlet("status", environment: ["MARTLET_QUEUES": queue])
      #expect(status.exitCode == 0, "\(number): \(status.lines)")
      #expect(try await worker.stop() == 0, "\(number)")
      _ = try await fleet.redis("DEL", EventStream.key)
    }
  }
}

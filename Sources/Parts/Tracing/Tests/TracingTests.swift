import EventLoop
import FleetSupport
import Foundation
import HTTPServer
import Jobs
import JSON
import Redis
import Testing
import TestSupport
@testable import Tracing

@testable import Queue

/// A job's trace, from the producer to its record, the log and the collector.
@EventLoop
@Suite(.serialized)
struct TracingTests {
  private static let shared = Task { try await Fleet() }
  private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let parent = "00-\(traceID)-00f067aa0ba902b7-01"
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  private func job(_ id: String, trace: String? = parent, to tokens: [String], _ members: String = "") -> String {
    let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    let member = trace.map { #","trace":"\#($0)""# } ?? ""
    return #"{"id":"\#(id)","to":{"tokens":[\#(list)]},"title":"a"\#(member)\#(members)}"#
  }

  private func worker(_ endpoint: String, _ changes: [String: String?] = [:]) async throws -> FleetWorker {
    try await fleet.worker(changes.merging(["OTEL_EXPORTER_OTLP_ENDPOINT": endpoint]) { $1 })
  }

  @Test func `the spans of a job reach the collector when the worker ends`() async throws {
    let collector = try TraceCollector()
    let worker = try await worker(
      collector.endpoint, ["OTEL_SERVICE_NAME": "shop", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=of%20the%20shop"])
    let (id, tokens) = (fleet.unique("traced"), fleet.uniqueTokens(2))
    try await fleet.gateway.device(tokens[1], #""rule":"unregistered","since":1900000000000"#)
    let before = Clock.unixMilliseconds - 1000
    try await fleet.enqueue(
      job(id, to: tokens, #","enqueuedAt":\#(before)"#), job(fleet.unique("plain"), trace: nil, to: tokens),
      job(fleet.unique("not-sampled"), trace: String(Self.parent.dropLast(2)) + "00", to: tokens), on: worker.queue)
    #expect(try await fleet.record(id).trace == Self.parent)
    try await fleet.settled(worker.queue)
    // Not the end of the worker, which waits for a collector only for a moment.
    try await eventually("the spans arrive") { collector.spans.count >= 5 }
    #expect(try await worker.stop() == 0)

    let spans = collector.spans
    #expect(spans.map { $0["name"]?.string } == ["martlet job", "wait", "resolve", "push", "push"])
    #expect(spans.allSatisfy { $0["traceId"]?.string == Self.traceID })
    let root = try #require(spans.first)
    #expect(root["parentSpanId"]?.string == "00f067aa0ba902b7")
    #expect(spans.dropFirst().allSatisfy { $0["parentSpanId"]?.string == root["spanId"]?.string })
    #expect(Set(spans.map { $0["spanId"]?.string }).count == spans.count)
    #expect(root["startTimeUnixNano"]?.string == "\(before)000000")
    #expect(root.attributes["messaging.message.id"] == id)
    #expect(root.attributes["messaging.destination.name"] == worker.queue)
    #expect(root.attributes["martlet.status"] == "partial")
    let statuses = spans.suffix(2).map { $0.attributes["http.response.status_code"] }
    #expect(Set(statuses) == ["200", "410"])
    for span in spans {
      let start = try #require(span["startTimeUnixNano"]?.string.flatMap { UInt64($0) })
      let end = try #require(span["endTimeUnixNano"]?.string.flatMap { UInt64($0) })
      #expect(start <= end)
    }
    // No whole token leaves the worker this way.
    #expect(!tokens.contains { token in spans.contains { "\($0)".contains(token) } })
    let request = try #require(collector.requests.first)
    #expect(request.headers["x-key"] == "of the shop")
    let resource = request.body["resourceSpans"]?.array?.first?["resource"]
    #expect(resource?.attributes["service.name"] == "shop")
  }

  @Test func `a share of the jobs without a trace is recorded`() async throws {
    let collector = try TraceCollector()
    let worker = try await worker(collector.endpoint, ["OTEL_TRACES_SAMPLER_ARG": "1"])
    let id = fleet.unique("untraced")
    try await fleet.enqueue(job(id, trace: nil, to: [fleet.uniqueToken()]), on: worker.queue)
    #expect(try await fleet.record(id).trace == nil)
    try await eventually("the spans arrive") { !collector.spans.isEmpty }
    #expect(try await worker.stop() == 0)
    #expect(collector.spans.first?["traceId"]?.string == TraceID.derived(jobID: id).text)
    #expect(collector.spans.first?["parentSpanId"] == nil)
  }

  @Test func `a collector that is away or never answers delays no push and no end`() async throws {
    let stalled = try TraceCollector(.stalls)
    for endpoint in ["http://127.0.0.1:\(try freePort())", stalled.endpoint] {
      let worker = try await worker(endpoint)
      // More spans than the buffer has room for.
      let ids = (0..<1000).map { _ in fleet.unique("traced") }
      try await fleet.enqueue(
        ids.map { Array(job($0, to: [fleet.uniqueToken()]).utf8) }, on: worker.queue)
      try await fleet.settled(worker.queue)
      for id in [ids[0], ids[999]] { #expect(try await fleet.record(id).status == "accepted") }
      #expect(try await worker.metric(#"martlet_spans_total{outcome="exported"}"#) == 0)
      #expect(try await worker.stop() == 0)
    }
  }

  @Test func `a job whose trace is malformed is a dead letter that says so`() async throws {
    let worker = try await fleet.worker()
    try await fleet.enqueue(job(fleet.unique("bad"), trace: "00-zz", to: [fleet.uniqueToken()]), on: worker.queue)
    let letter = try await fleet.deadLetters(worker.queue, count: 1)[0]
    #expect(letter.reason.hasPrefix("trace: expected a W3C traceparent"))
    #expect(try await worker.stop() == 0)
  }

  @Test func `the sidecar takes the trace of a broadcast from its request`() async throws {
    let queue = fleet.unique("broadcasts")
    let sidecar = try await fleet.sidecar(
      "sidecar", ["MARTLET_PUSH_SERVER_OPEN": "true", "MARTLET_QUEUES": queue])
    for header in [Self.parent, "00-nonsense"] {
      _ = try await ChildProcess.run(
        "curl",
        [
          "-sSf", "-H", "traceparent: \(header)", "-d", "bundleId=com.example.app", "-d", "body=News",
          "http://127.0.0.1:\(sidecar.port)/newpush",
        ])
    }
    let elements = try await fleet.redis("LRANGE", queue, "0", "-1").array ?? []
    let jobs = try elements.compactMap(\.bytes).map { try Job(parsing: $0) }
    #expect(jobs.map { $0.trace?.text } == [nil, Self.parent])
    #expect(try await sidecar.stop() == 0)
  }

  @Test func `enqueue checks the trace`() async throws {
    let queue = fleet.unique("enqueued")
    let good = try await fleet.martlet(
      "enqueue", "--queue", queue, "--user", "a", "--title", "x", "--trace", Self.parent)
    #expect(good.exitCode == 0)
    let bad = try await fleet.martlet("enqueue", "--queue", queue, "--user", "a", "--title", "x", "--trace", "x")
    #expect(bad.exitCode == 1)
    let element = try await fleet.redis("LINDEX", queue, "0").bytes ?? []
    #expect(try Job(parsing: element).trace?.text == Self.parent)
    #expect(try await fleet.redis("LLEN", queue).integer == 1)
  }

  @Test func `status shows what the fleet did in the last hour`() async throws {
    let worker = try await fleet.worker()
    let id = fleet.unique("counted")
    try await fleet.enqueue(
      job(id, to: [fleet.uniqueToken()], #","enqueuedAt":\#(Clock.unixMilliseconds)"#), on: worker.queue)
    _ = try await fleet.record(id)
    #expect(try await worker.stop() == 0)
    let status = try await fleet.martlet("status", "--json", environment: ["MARTLET_QUEUES": worker.queue])
    let hour = try JSONValue(parsing: Array(status.lines(of: .output).joined().utf8))["lastHour"]
    #expect(hour?["jobs"]?["accepted"]?.count ?? 0 >= 1)
    #expect(hour?["accepted"]?.count ?? 0 >= 1)
    #expect(hour?["claims"]?[worker.queue]?.count == 1)
    #expect(hour?["latency"]?["count"]?.count ?? 0 >= 1)
    let text = try await fleet.martlet("status", environment: ["MARTLET_QUEUES": worker.queue]).lines
    #expect(text.contains { $0.hasPrefix("last hour: ") })
  }
}

import EventLoop
import FleetSupport
import HTTPServer
import Telemetry
import Testing
import TestSupport

@testable import Tracing

/// Sending spans to collectors that accept, refuse or stall.
@EventLoop
struct SpanExporterTests {
  private func exporter(_ endpoint: String, _ metrics: Metrics = Metrics()) -> (SpanExporter, SpanMetrics) {
    let spanMetrics = SpanMetrics(metrics)
    let exporter = SpanExporter(
      TracingConfiguration(endpoint: endpoint, headers: [.init(name: "X-Tenant", value: "shop")]), instance: "w",
      metrics: spanMetrics, log: .silent)
    return (exporter, spanMetrics)
  }

  private func spans(_ count: Int) -> [Span] {
    (0..<count).map { Span(traceID: "t", id: "\($0)", parentID: nil, name: "n", kind: .internal, start: 1, end: 2) }
  }

  @Test func `a full batch is sent at once, and the rest at the end`() async throws {
    let collector = try TraceCollector()
    let (exporter, metrics) = exporter(collector.endpoint)
    exporter.add(spans(SpanBuffer.batch))
    try await eventually("the batch arrives") { collector.spans.count == SpanBuffer.batch }
    exporter.add(spans(3))
    await exporter.flush(within: patience)
    #expect(collector.spans.count == SpanBuffer.batch + 3)
    #expect(collector.requests.allSatisfy { $0.path == "/v1/traces" && $0.headers["x-tenant"] == "shop" })
    #expect(collector.requests.allSatisfy { $0.headers["content-type"] == "application/json" })
    #expect((metrics.exported.value, metrics.dropped.value) == (UInt64(SpanBuffer.batch + 3), 0))
  }

  @Test func `a collector whose authority is unknown is told with its origin and what to do`() async throws {
    let server = try await TLSServer()
    let lines = LogLines()
    let exporter = SpanExporter(
      TracingConfiguration(endpoint: "https://user:secret@localhost:\(server.port)/path"), instance: "w",
      metrics: SpanMetrics(Metrics()),
      log: lines.log(level: .info))
    exporter.add(spans(1))
    await exporter.flush(within: patience)
    let line = try #require(lines.lines.first)
    #expect(line.contains(#""url":"https://localhost:\#(server.port)""#))
    #expect(line.contains("update-ca-certificates"))
    #expect(!line.contains("secret"))
  }

  @Test func `nothing to send ends at once`() async throws {
    let (exporter, _) = exporter("http://127.0.0.1:1")
    await exporter.flush(within: patience)
  }

  @Test func `spans that a collector refuses are dropped and counted`() async throws {
    let collector = try TraceCollector(.status(400))
    let (exporter, metrics) = exporter(collector.endpoint)
    exporter.add(spans(3))
    await exporter.flush(within: patience)
    #expect((metrics.exported.value, metrics.dropped.value) == (0, 3))
  }

  @Test func `spans that a collector cannot take now are sent again`() async throws {
    let collector = try TraceCollector(.status(503))
    let (exporter, metrics) = exporter(collector.endpoint)
    exporter.add(spans(SpanBuffer.batch))
    try await eventually("the first attempt") { collector.requests.count >= 1 }
    collector.mode = .accepts
    try await eventually("another attempt") { metrics.exported.value == UInt64(SpanBuffer.batch) }
    #expect(metrics.dropped.value == 0)
  }

  @Test func `a collector that stalls holds a bounded number of spans and no end`() async throws {
    let collector = try TraceCollector(.stalls)
    let (exporter, metrics) = exporter(collector.endpoint)
    for _ in 0..<20 { exporter.add(spans(SpanBuffer.batch)) }
    let room = SpanBuffer.maximumSpans + SpanBuffer.batch
    #expect(metrics.dropped.value == UInt64(20 * SpanBuffer.batch - room))
    await exporter.flush(within: .zero)
    #expect(metrics.exported.value == 0)
  }

  @Test func `without a collector the end does not wait for its time`() async throws {
    let (exporter, metrics) = exporter("http://127.0.0.1:\(try freePort())")
    exporter.add(spans(10))
    await exporter.flush(within: patience)
    #expect(metrics.exported.value == 0)
  }
}

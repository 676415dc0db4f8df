import EventLoop
import Telemetry
import Testing

@EventLoop
struct TelemetryTests {
  @Test func `a log line is one JSON object and hostile values cannot break out of it`() {
    nonisolated(unsafe) var lines: [String] = []
    let log = Log(level: .info, isText: false) { lines.append($0) }
    log.info("job done", ["id": .init("a\"\n\u{1}"), "pushes": 3, "late": false])
    #expect(lines.count == 1)
    #expect(lines[0].hasSuffix("\"message\":\"job done\",\"id\":\"a\\\"\\n\\u0001\",\"pushes\":3,\"late\":false}\n"))
  }

  @Test func `what is below the level is not written`() {
    nonisolated(unsafe) var lines: [String] = []
    let log = Log(level: .warn, isText: true) { lines.append($0) }
    log.info("quiet")
    log.debug("quieter")
    log.warn("loud", ["escape": .init("\u{1B}[2J")])
    #expect(lines.count == 1)
    #expect(lines[0].hasSuffix(" warn  loud escape=�[2J\n"))
  }

  @Test func `tokens are shortened to eight characters`() {
    #expect(Log.shortened("0123456789abcdef") == "01234567…")
  }

  @Test func `metrics are written in the Prometheus text format`() {
    let metrics = Metrics()
    metrics.counter("jobs_total", help: "Jobs.").increment(by: 2)
    metrics.counters("pushes_total", label: "reason", help: "Pushes.")["a\"b"].increment()
    metrics.gauge("up", help: "Up.") { 1 }
    let histogram = metrics.histogram("send_seconds", help: "Send time.")
    histogram.record(nanoseconds: 2_000_000)
    let text = metrics.prometheusText()
    #expect(text.contains("# TYPE jobs_total counter\njobs_total 2\n"))
    #expect(text.contains("pushes_total{reason=\"a\\\"b\"} 1\n"))
    #expect(text.contains("# TYPE up gauge\nup 1.0\n"))
    #expect(text.contains("send_seconds_bucket{le=\"0.001\"} 0\n"))
    #expect(text.contains("send_seconds_bucket{le=\"0.0025\"} 1\n"))
    #expect(text.contains("send_seconds_sum 0.002\nsend_seconds_count 1\n"))
  }

  @Test func `a flood of label values ends in one counter`() {
    let metrics = Metrics()
    let family = metrics.counters("pushes_total", label: "reason", help: "Pushes.")
    for reason in 0..<1000 { family["r\(reason)"].increment() }
    #expect(metrics.prometheusText().contains("pushes_total{reason=\"other\"} 900\n"))
  }
}

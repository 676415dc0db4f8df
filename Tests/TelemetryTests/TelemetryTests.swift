import EventLoop
import Telemetry
import Testing

@EventLoop
struct TelemetryTests {
  @Test func `a log line is one JSON object for values with any characters`() {
    nonisolated(unsafe) var lines: [String] = []
    let log = Log(level: .info, isText: false) { lines.append($0) }
    log.info("job done", ["id": .init("a\"\n\u{1}"), "pushes": 3, "late": false])
    #expect(lines.count == 1)
    #expect(lines[0].hasSuffix("\"message\":\"job done\",\"id\":\"a\\\"\\n\\u0001\",\"pushes\":3,\"late\":false}\n"))
  }

  @Test func `events below the level are not written`() {
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

  @Test func `counters may have several labels`() {
    let metrics = Metrics()
    let family = metrics.counters("requests_total", labels: ["method", "route"], help: "Requests.")
    family["GET", "/a\"\\\n"].increment()
    family["GET", "/b"].increment(by: 2)
    family["GET", "/b"].increment()
    let text = metrics.prometheusText()
    #expect(text.contains("# TYPE requests_total counter\n"))
    #expect(text.contains("requests_total{method=\"GET\",route=\"/a\\\"\\\\\\n\"} 1\n"))
    #expect(text.contains("requests_total{method=\"GET\",route=\"/b\"} 3\n"))
  }

  @Test func `a flood of combinations of label values ends in one counter`() {
    let metrics = Metrics()
    let family = metrics.counters("requests_total", labels: ["method", "route"], help: "Requests.")
    for route in 0..<1000 { family["GET", "r\(route)"].increment() }
    #expect(metrics.prometheusText().contains("requests_total{method=\"other\",route=\"other\"} 500\n"))
  }

  @Test func `a counter that is kept elsewhere is read on each scrape`() {
    let metrics = Metrics()
    var value = 1.0
    metrics.counter("reads_total", help: "Reads.") {
      value += 1
      return value
    }
    #expect(metrics.prometheusText().contains("# TYPE reads_total counter\nreads_total 2.0\n"))
    #expect(metrics.prometheusText().contains("reads_total 3.0\n"))
  }

  @Test func `a histogram may have its own buckets`() {
    let metrics = Metrics()
    let histogram = metrics.histogram("wait_seconds", help: "Wait.", bounds: [.seconds(1), .seconds(3600)])
    histogram.record(nanoseconds: 2_000_000_000)
    histogram.record(nanoseconds: 4_000_000_000_000)
    let text = metrics.prometheusText()
    #expect(text.contains("wait_seconds_bucket{le=\"1.0\"} 0\nwait_seconds_bucket{le=\"3600.0\"} 1\n"))
    #expect(text.contains("wait_seconds_bucket{le=\"+Inf\"} 2\nwait_seconds_sum 4002.0\nwait_seconds_count 2\n"))
  }

  @Test func `a flood of label values ends in one counter`() {
    let metrics = Metrics()
    let family = metrics.counters("pushes_total", label: "reason", help: "Pushes.")
    for reason in 0..<1000 { family["r\(reason)"].increment() }
    #expect(metrics.prometheusText().contains("pushes_total{reason=\"other\"} 900\n"))
  }
}

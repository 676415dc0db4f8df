import EventLoop
import Testing

@testable import Telemetry

@EventLoop
struct MergedMetricsTests {
  private func merge(_ pages: [MetricsPage], _ gauges: [String: MergedMetrics.GaugeRule] = [:]) -> MetricsPage {
    MergedMetrics.merge(pages, gauges: gauges)
  }

  private func page(_ family: String, _ type: String, _ samples: String...) -> MetricsPage {
    MetricsPage(parsing: "# HELP \(family) Help.\n# TYPE \(family) \(type)\n" + samples.map { $0 + "\n" }.joined())
  }

  @Test func `a page that is read and written says the same`() {
    let metrics = Metrics()
    metrics.counter("a_total", help: "Things.").increment(by: 3)
    metrics.counters("b_total", label: "reason", help: "By reason.")["with space \"and\" }"].increment()
    metrics.histogram("c_seconds", help: "Time.", bounds: [.seconds(1)]).record(nanoseconds: 1_500_000_000)
    metrics.gauge("d", labels: ["x"], help: "None.") { [] }
    metrics.addProcess(version: "1")
    let text = metrics.prometheusText()
    let page = MetricsPage(parsing: text)
    #expect(MetricsPage(parsing: page.text) == page)
    #expect(page.text.contains("a_total 3\n"))
    #expect(page.text.contains("b_total{reason=\"with space \\\"and\\\" }\"} 1\n"))
    #expect(page.text.contains("c_seconds_bucket{le=\"1.0\"} 0\nc_seconds_bucket{le=\"+Inf\"} 1\nc_seconds_sum 1.5\n"))
    #expect(page.text.contains("# HELP d None.\n# TYPE d gauge\n# HELP"))
    let names = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE") }
    #expect(page.text.split(separator: "\n").filter { $0.hasPrefix("# TYPE") } == names)
  }

  @Test func `what is not a sample is left out`() {
    #expect(MetricsPage(parsing: "").families == [])
    #expect(MetricsPage(parsing: "a_total 3\n\nnonsense\n# comment").families == [])
    #expect(page("a", "gauge", "a", "a x", "a 1").families[0].samples == [.init(series: "a", value: 1)])
  }

  @Test func `counters and histograms are summed, series by series`() {
    let merged = merge([
      page("a_total", "counter", "a_total{x=\"1\"} 1", "a_total{x=\"2\"} 2"),
      page("a_total", "counter", "a_total{x=\"2\"} 5", "a_total{x=\"3\"} 7"),
      page("b_seconds", "histogram", "b_seconds_bucket{le=\"+Inf\"} 2", "b_seconds_sum 0.5", "b_seconds_count 2"),
      page("b_seconds", "histogram", "b_seconds_bucket{le=\"+Inf\"} 1", "b_seconds_sum 0.25", "b_seconds_count 1"),
    ])
    #expect(
      merged.text == """
        # HELP a_total Help.
        # TYPE a_total counter
        a_total{x="1"} 1
        a_total{x="2"} 7
        a_total{x="3"} 7
        # HELP b_seconds Help.
        # TYPE b_seconds histogram
        b_seconds_bucket{le="+Inf"} 3
        b_seconds_sum 0.75
        b_seconds_count 3

        """)
  }

  @Test(arguments: [
    (MergedMetrics.GaugeRule.sum, -2.0), (.minimum, -6), (.maximum, 4), (.farthest, -6),
  ]) func `gauges are merged by the rule of their family`(rule: MergedMetrics.GaugeRule, expected: Double) {
    let pages = [page("g", "gauge", "g 4"), page("g", "gauge"), page("g", "gauge", "g -6")]
    #expect(merge(pages, ["g": rule]).families[0].samples == [.init(series: "g", value: expected)])
  }

  @Test func `a gauge without a rule is summed, and the greatest of its times counts`() {
    #expect(merge([page("g", "gauge", "g 4"), page("g", "gauge", "g 6")]).text.hasSuffix("\ng 10\n"))
    let ages = [page("age_seconds", "gauge", "age_seconds 4.5"), page("age_seconds", "gauge", "age_seconds 3")]
    #expect(merge(ages).text.hasSuffix("\nage_seconds 4.5\n"))
  }

  @Test func `what only grows is kept of a process that has ended`() {
    let page = MetricsPage(
      parsing: page("a_total", "counter", "a_total 1").text + page("g", "gauge", "g 1").text)
    #expect(page.cumulative.families.map(\.name) == ["a_total"])
  }
}

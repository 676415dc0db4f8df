package import Operations

/// Stacked bars of what became of pushes over time. The numbers are also in a table, for those who do not see the chart.
package struct BarChart: Sendable {
  package struct Bar: Sendable {
    /// The time that the bar stands for: `14:05 UTC`.
    package let title: String
    /// One for each series.
    package let values: [Int]
  }

  /// The names of the parts of a bar, from the bottom; each has a colour of its own.
  package let series = ["Accepted", "Refused", "Uncertain"]
  /// What the chart shows.
  package let title: String
  /// From the left.
  package let bars: [Bar]
  /// The text below the first bar.
  package let start: String
  /// What one bar stands for: `minute`.
  package let unit: String

  /// `minutes`: the earliest first.
  package init(minutes: [CounterBucket]) {
    title = "Pushes, last hour"
    bars = minutes.map { Bar($0, BarChart.clock($0)) }
    (start, unit) = ("\(minutes.count) min ago", "minute")
  }

  /// `hours`: the earliest first.
  package init(hours: [CounterBucket]) {
    title = "Pushes, last \(hours.count) hours"
    bars = hours.map { Bar($0, "\(TimeText.exact($0.start * 1000).prefix(10)) \(BarChart.clock($0))") }
    (start, unit) = ("\(hours.count) h ago", "hour")
  }

  /// `14:05 UTC`
  private static func clock(_ bucket: CounterBucket) -> String {
    "\(TimeText.exact(bucket.start * 1000).dropFirst(11).prefix(5)) UTC"
  }

  /// The height of the highest bar; at least 1.
  package var maximum: Int { max(1, bars.map { $0.values.reduce(0, +) }.max() ?? 0) }

  /// The sum of each series.
  package var totals: [Int] { series.indices.map { place in bars.reduce(0) { $0 + $1.values[place] } } }

  /// One sentence that tells what the chart shows.
  package var description: String {
    let parts = zip(series, totals).map { "\($0) \(NumberText.grouped($1))" }.joined(separator: ", ")
    return "\(parts). At most \(NumberText.grouped(maximum)) in one \(unit)."
  }
}

extension HTML {
  /// Units of the drawing; the page stretches it.
  private static let barWidth = 10
  private static let height = 120

  /// Appends a chart. `id` keeps its table open while the page is refreshed.
  package mutating func chart(_ chart: BarChart, id: String) {
    element("figure", ["class": "chart"]) { html in
      html.element("figcaption") { html in
        html.element("strong", chart.title)
        html.element("span", ["class": "peak"], "up to \(NumberText.grouped(chart.maximum)) in one \(chart.unit)")
      }
      html.drawing(chart)
      html.element("div", ["class": "axis", "aria-hidden": "true"]) { html in
        html.element("span", chart.start)
        html.element("span", "now")
      }
      html.legend(chart)
      html.details("Numbers of this chart", id: id) { $0.table(chart.table) }
    }
  }

  private mutating func drawing(_ chart: BarChart) {
    let width = chart.bars.count * HTML.barWidth
    element(
      "svg",
      [
        "viewBox": "0 0 \(width) \(HTML.height)", "preserveAspectRatio": "none", "height": "144", "role": "img",
        "aria-label": "\(chart.title): \(chart.description)",
      ]
    ) { html in
      for share in 0...2 {
        let line = "\(HTML.height * share / 2)"
        html.element("line", ["class": "grid", "x1": "0", "x2": "\(width)", "y1": line, "y2": line], "")
      }
      for (place, bar) in chart.bars.enumerated() { html.bar(bar, place, chart) }
    }
  }

  private mutating func bar(_ bar: BarChart.Bar, _ place: Int, _ chart: BarChart) {
    guard bar.values.contains(where: { $0 > 0 }) else { return }
    element("g") { html in
      let numbers = zip(chart.series, bar.values).map { "\($0) \(NumberText.grouped($1))" }
      html.element("title", "\(bar.title): \(numbers.joined(separator: ", "))")
      var top = Double(HTML.height)
      for (series, value) in bar.values.enumerated() where value > 0 {
        let height = max(1, Double(value) * Double(HTML.height) / Double(chart.maximum))
        top -= height
        html.element(
          "rect",
          [
            "class": "s\(series + 1)", "x": "\(place * HTML.barWidth + 1)", "width": "\(HTML.barWidth - 2)",
            "y": Coordinate.text(top), "height": Coordinate.text(height),
          ], "")
      }
    }
  }

  /// Appends a bar that shows a share of the largest number.
  package mutating func shareBar(percent: Double) {
    element("svg", ["class": "share", "viewBox": "0 0 100 4", "preserveAspectRatio": "none", "aria-hidden": "true"]) {
      $0.element("rect", ["width": Coordinate.text(percent), "height": "4", "rx": "1"], "")
    }
  }

  private mutating func legend(_ chart: BarChart) {
    element("ul", ["class": "legend"]) { html in
      for (place, (name, total)) in zip(chart.series, chart.totals).enumerated() {
        html.element("li") { html in
          html.element("svg", ["viewBox": "0 0 12 12", "aria-hidden": "true"]) { html in
            html.element("rect", ["class": "s\(place + 1)", "width": "12", "height": "12", "rx": "3"], "")
          }
          html.text("\(name) ")
          html.element("strong", NumberText.grouped(total))
        }
      }
    }
  }
}

extension BarChart.Bar {
  fileprivate init(_ bucket: CounterBucket, _ title: String) {
    self.title = title
    values = [bucket.accepted, bucket.failed, bucket.uncertain]
  }
}

extension BarChart {
  /// The bars with their numbers; those without any are left out.
  fileprivate var table: Table {
    var table = Table(title, columns: [.text(unit.capitalizedFirst)] + series.map { .number($0) })
    for bar in bars.reversed() where bar.values.contains(where: { $0 > 0 }) {
      table.row([.text(bar.title)] + bar.values.map { .number($0) })
    }
    return table
  }
}

extension String {
  package var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

/// Numbers of a drawing.
package enum Coordinate {
  /// Two decimals at most.
  package static func text(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    return hundredths % 100 == 0 ? "\(hundredths / 100)" : "\(Double(hundredths) / 100)"
  }
}

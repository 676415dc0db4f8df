/// A page of ``Metrics/prometheusText()``, read back.
package struct MetricsPage: Equatable, Sendable {
  /// Samples that share a name.
  package struct Family: Equatable, Sendable {
    package let name: String
    /// `counter`, `gauge` or `histogram`.
    package let type: String
    package let help: String
    /// In the order of the page.
    package var samples: [Sample]

    /// Whether the samples only grow while the process lives.
    package var isCumulative: Bool { type != "gauge" }
  }

  package struct Sample: Equatable, Sendable {
    /// The name with its suffix and labels: `martlet_job_seconds_bucket{le="0.1"}`.
    package let series: String
    package var value: Double

    package init(series: String, value: Double) {
      self.series = series
      self.value = value
    }
  }

  package var families: [Family] = []

  package init() {}

  /// Reads the text format 0.0.4 as ``Metrics`` writes it: each family begins with its help and its type. Other lines are left out.
  package init(parsing text: String) {
    var help = ""
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let line = Substring(line)
      if line.hasPrefix("# HELP ") {
        help = String(line.dropFirst(7).drop { $0 != " " }.dropFirst())
      } else if line.hasPrefix("# TYPE ") {
        let words = line.dropFirst(7).split(separator: " ")
        guard words.count == 2 else { continue }
        families.append(Family(name: String(words[0]), type: String(words[1]), help: help, samples: []))
      } else if let sample = Sample(parsing: line), !families.isEmpty {
        families[families.count - 1].samples.append(sample)
      }
    }
  }

  /// The families whose samples only grow.
  package var cumulative: MetricsPage {
    var page = MetricsPage()
    page.families = families.filter(\.isCumulative)
    return page
  }

  /// The text format 0.0.4.
  package var text: String {
    var text = ""
    for family in families {
      text += "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.type)\n"
      for sample in family.samples { text += "\(sample.series) \(sample.number)\n" }
    }
    return text
  }
}

extension MetricsPage.Sample {
  /// Whole numbers up to this are exact.
  private static let largestExact = 9_007_199_254_740_992.0

  /// Values of labels may contain spaces, numbers do not.
  fileprivate init?(parsing line: Substring) {
    guard let space = line.utf8.lastIndex(of: UInt8(ascii: " ")),
      let value = Double(line[line.utf8.index(after: space)...])
    else { return nil }
    self.init(series: String(line[..<space]), value: value)
  }

  fileprivate var number: String {
    let isWhole = value.magnitude < MetricsPage.Sample.largestExact && value == value.rounded()
    return isWhole ? String(Int64(value)) : "\(value)"
  }
}

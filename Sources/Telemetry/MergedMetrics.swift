/// What several processes of one kind report together, under the names and labels of one.
package enum MergedMetrics {
  /// How the gauges of several processes become one.
  package enum GaugeRule: Sendable {
    case sum, minimum, maximum
    /// The one that is farthest from zero.
    case farthest
  }

  /// Counters and histograms are summed, and gauges merged by the rules, which are found by the family's name. A gauge without a rule
  /// is summed, or if it is an age or another time (`_seconds`) the greatest counts.
  ///
  /// Families and samples keep the order in which they first appear.
  package static func merge(_ pages: [MetricsPage], gauges: [String: GaugeRule]) -> MetricsPage {
    var merged: [Accumulator] = []
    var places: [String: Int] = [:]
    for family in pages.lazy.flatMap(\.families) {
      if let place = places[family.name] {
        merged[place].add(family.samples)
      } else {
        places[family.name] = merged.count
        merged.append(Accumulator(family, family.isCumulative ? .sum : rule(of: family.name, gauges)))
      }
    }
    var page = MetricsPage()
    page.families = merged.map(\.family)
    return page
  }

  private static func rule(of name: String, _ gauges: [String: GaugeRule]) -> GaugeRule {
    gauges[name] ?? (name.hasSuffix("_seconds") ? .maximum : .sum)
  }

  /// A family to which samples are added.
  private struct Accumulator {
    private(set) var family: MetricsPage.Family
    private let rule: GaugeRule
    private var places: [String: Int] = [:]

    init(_ family: MetricsPage.Family, _ rule: GaugeRule) {
      self.family = family
      self.family.samples = []
      self.rule = rule
      add(family.samples)
    }

    mutating func add(_ samples: [MetricsPage.Sample]) {
      for sample in samples {
        if let place = places[sample.series] {
          let value = family.samples[place].value
          family.samples[place].value = rule.merged(value, sample.value)
        } else {
          places[sample.series] = family.samples.count
          family.samples.append(sample)
        }
      }
    }
  }
}

extension MergedMetrics.GaugeRule {
  fileprivate func merged(_ left: Double, _ right: Double) -> Double {
    switch self {
    case .sum: left + right
    case .minimum: min(left, right)
    case .maximum: max(left, right)
    case .farthest: right.magnitude > left.magnitude ? right : left
    }
  }
}

public import EventLoop

/// The metrics of a process and their Prometheus text.
///
/// Every family is registered once, at the start. Names follow Prometheus' conventions: base units, and `_total` at the end
/// of a counter's name and of no other.
@EventLoop
public final class Metrics {
  private var families: [any MetricFamily] = []

  public init() {}

  public func counter(_ name: String, help: String) -> Counter {
    add(CounterFamily(MetricHead(name: name, type: .counter, help: help), label: nil))[""]
  }

  /// A counter that is kept elsewhere and read on each scrape.
  public func counter(_ name: String, help: String, read: @escaping @EventLoop () -> Int) {
    observe(name, .counter, help) { [([], Double(read()))] }
  }

  /// One counter for each value of `label`.
  public func counters(_ name: String, label: String, help: String) -> CounterFamily {
    add(CounterFamily(MetricHead(name: name, type: .counter, help: help), label: label))
  }

  /// One counter for each combination of the labels' values.
  public func counters(_ name: String, labels: [String], help: String) -> LabelledCounterFamily {
    add(LabelledCounterFamily(MetricHead(name: name, type: .counter, help: help), labels: labels))
  }

  /// A number that is read on each scrape.
  public func gauge(_ name: String, help: String, read: @escaping @EventLoop () -> Int) {
    observe(name, .gauge, help) { [([], Double(read()))] }
  }

  /// Numbers that are read on each scrape. Each has a value for each label, in their order; there must be few of them.
  public func gauge(
    _ name: String, labels: [String], help: String, read: @escaping @EventLoop () -> [([String], Double)]
  ) {
    observe(name, .gauge, help, labels: labels, read)
  }

  /// A histogram of durations; the unit is seconds. `bounds` are the upper bounds of the buckets, by default 100 us to
  /// 5 minutes.
  public func histogram(_ name: String, help: String, bounds: [Duration]? = nil) -> Histogram {
    add(Histogram(MetricHead(name: name, type: .histogram, help: help), bounds: bounds ?? Histogram.workBounds))
  }

  /// The text format 0.0.4.
  public func prometheusText() -> String {
    var text = ""
    for family in families {
      family.head.write(to: &text)
      family.writeSamples(to: &text)
    }
    return text
  }

  func observe(
    _ name: String, _ type: MetricHead.MetricType, _ help: String, labels: [String] = [],
    _ read: @escaping @EventLoop () -> [ObservedFamily.Sample]
  ) {
    _ = add(ObservedFamily(MetricHead(name: name, type: type, help: help), labels: labels, read: read))
  }

  private func add<Family: MetricFamily>(_ family: Family) -> Family {
    precondition(!families.contains { $0.head.name == family.head.name }, "\(family.head.name) is registered twice")
    families.append(family)
    return family
  }
}

/// Samples that share a name.
@EventLoop
protocol MetricFamily {
  var head: MetricHead { get }

  func writeSamples(to text: inout String)
}

/// What the samples of a family share, and how they are written.
struct MetricHead {
  enum MetricType: String { case counter, gauge, histogram }

  /// Replaces the label values that a family has no room for.
  static let otherLabelValue = "other"

  let name: String
  let type: MetricType
  /// One line, without backslashes.
  let help: String

  func write(to text: inout String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  /// `name{label="value"} number` and a line end. Values without a label are left out.
  func writeSample(
    suffix: String = "", _ labels: [String], _ values: [String], _ number: String, to text: inout String
  ) {
    let pairs = zip(labels, values).map { "\($0)=\"\(MetricHead.escaped($1))\"" }.joined(separator: ",")
    text += "\(name)\(suffix)\(pairs.isEmpty ? "" : "{\(pairs)}") \(number)\n"
  }

  private static func escaped(_ value: String) -> String {
    var escaped = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

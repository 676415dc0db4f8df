public import EventLoop

/// The instruments of a process and their Prometheus text.
///
/// Instruments are made once, at the start; a counter family makes one counter per label value, up to a limit.
@EventLoop
public final class Metrics {
  private var families: [any MetricFamily] = []

  public init() {}

  /// `name` ends in `_total`.
  public func counter(_ name: String, help: String) -> Counter {
    let family = CounterFamily(name: name, help: help, label: nil)
    families.append(family)
    return family[""]
  }

  /// One counter per value of `label`.
  public func counters(_ name: String, label: String, help: String) -> CounterFamily {
    let family = CounterFamily(name: name, help: help, label: label)
    families.append(family)
    return family
  }

  /// Read when asked for; several readings with one label tell them apart.
  public func gauge(
    _ name: String, label: String? = nil, help: String, read: @escaping @EventLoop () -> [(String, Double)]
  ) {
    families.append(GaugeFamily(name: name, help: help, label: label, read: read))
  }

  /// The same with several labels; each reading has a value for each of them, and there are not many readings.
  public func gauge(
    _ name: String, labels: [String], help: String, read: @escaping @EventLoop () -> [([String], Double)]
  ) {
    families.append(LabelledGauge(name: name, help: help, labels: labels, read: read))
  }

  /// Seconds, in buckets from 100 us to 5 minutes.
  public func histogram(_ name: String, help: String) -> Histogram {
    let histogram = Histogram(name: name, help: help)
    families.append(histogram)
    return histogram
  }

  /// Prometheus' text format 0.0.4.
  public func prometheusText() -> String {
    var text = ""
    for family in families { family.write(to: &text) }
    return text
  }
}

@EventLoop
protocol MetricFamily {
  func write(to text: inout String)
}

extension MetricFamily {
  func writeHead(_ name: String, _ type: String, _ help: String, to text: inout String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  /// `name{label="value"} number` and a line end.
  func writeSample(_ name: String, _ label: String?, _ value: String, _ number: String, to text: inout String) {
    writeSample(name, label.map { [($0, value)] } ?? [], number, to: &text)
  }

  /// The same with any number of labels.
  func writeSample(_ name: String, _ labels: [(String, String)], _ number: String, to text: inout String) {
    let pairs = labels.map { label, value in "\(label)=\"\(escaped(value))\"" }.joined(separator: ",")
    text += "\(name)\(pairs.isEmpty ? "" : "{\(pairs)}") \(number)\n"
  }

  private func escaped(_ value: String) -> String {
    var escaped = ""
    for character in value {
      switch character {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.append(character)
      }
    }
    return escaped
  }
}

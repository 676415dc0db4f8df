public import EventLoop

/// Only goes up.
@EventLoop
public final class Counter {
  public private(set) var value: UInt64 = 0

  init() {}

  public func increment(by amount: Int = 1) {
    value &+= UInt64(amount)
  }
}

/// Counters that share a name and differ by one label.
@EventLoop
public final class CounterFamily: MetricFamily {
  /// Label values come from outside (APNs' reasons): past this many they are counted together as `other`.
  static let maximumLabelValues = 100

  private let name: String
  private let help: String
  private let label: String?
  private var counters: [String: Counter] = [:]

  init(name: String, help: String, label: String?) {
    self.name = name
    self.help = help
    self.label = label
  }

  public subscript(value: String) -> Counter {
    if let counter = counters[value] { return counter }
    if counters.count >= CounterFamily.maximumLabelValues, value != "other" { return self["other"] }
    let counter = Counter()
    counters[value] = counter
    return counter
  }

  func write(to text: inout String) {
    writeHead(name, "counter", help, to: &text)
    for (value, counter) in counters.sorted(by: { $0.key < $1.key }) {
      writeSample(name, label, value, String(counter.value), to: &text)
    }
  }
}

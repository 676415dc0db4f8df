public import EventLoop

/// A number that only goes up.
@EventLoop
public final class Counter {
  public private(set) var value: UInt64 = 0

  init() {}

  public func increment(by amount: Int = 1) {
    value &+= UInt64(amount)
  }
}

/// Counters that share a name and differ in the value of one label.
@EventLoop
public final class CounterFamily: MetricFamily {
  /// Label values come from outside (APNs' reasons). Further ones are counted together as `other`.
  static let maximumLabelValues = 100

  let head: MetricHead
  private let labels: [String]
  private var counters: [String: Counter] = [:]

  /// A family without a label has one counter, that of the value `""`.
  init(_ head: MetricHead, label: String?) {
    self.head = head
    labels = label.map { [$0] } ?? []
  }

  public subscript(value: String) -> Counter {
    if let counter = counters[value] { return counter }
    if counters.count >= CounterFamily.maximumLabelValues, value != MetricHead.otherLabelValue {
      return self[MetricHead.otherLabelValue]
    }
    let counter = Counter()
    counters[value] = counter
    return counter
  }

  func writeSamples(to text: inout String) {
    for (value, counter) in counters.sorted(by: { $0.key < $1.key }) {
      head.writeSample(labels, [value], String(counter.value), to: &text)
    }
  }
}

/// Counters that share a name and differ in the values of several labels.
@EventLoop
public final class LabelledCounterFamily: MetricFamily {
  /// Combinations of label values. Further ones are counted together, with `other` as the value of each label.
  static let maximumCounters = 500

  let head: MetricHead
  private let labels: [String]
  private var counters: [[String]: Counter] = [:]

  init(_ head: MetricHead, labels: [String]) {
    self.head = head
    self.labels = labels
  }

  /// `values` are in the order of the labels.
  public subscript(values: String...) -> Counter {
    precondition(values.count == labels.count, "one value for each label")
    return counter(values)
  }

  private func counter(_ values: [String]) -> Counter {
    if let counter = counters[values] { return counter }
    let other = labels.map { _ in MetricHead.otherLabelValue }
    if counters.count >= LabelledCounterFamily.maximumCounters, values != other { return counter(other) }
    let counter = Counter()
    counters[values] = counter
    return counter
  }

  func writeSamples(to text: inout String) {
    for (values, counter) in counters.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      head.writeSample(labels, values, String(counter.value), to: &text)
    }
  }
}

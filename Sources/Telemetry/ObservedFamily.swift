import EventLoop

/// Samples that are read from their source on each scrape.
@EventLoop
final class ObservedFamily: MetricFamily {
  /// The values of the labels, in their order, and the number.
  typealias Sample = (labelValues: [String], number: Double)

  let head: MetricHead
  private let labels: [String]
  private let read: @EventLoop () -> [Sample]

  init(_ head: MetricHead, labels: [String], read: @escaping @EventLoop () -> [Sample]) {
    self.head = head
    self.labels = labels
    self.read = read
  }

  func writeSamples(to text: inout String) {
    for sample in read() { head.writeSample(labels, sample.labelValues, "\(sample.number)", to: &text) }
  }
}

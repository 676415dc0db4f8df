import EventLoop

/// A gauge whose samples differ by several labels, read at the moment it is asked for.
@EventLoop
final class LabelledGauge: MetricFamily {
  private let name: String
  private let help: String
  private let labels: [String]
  private let read: @EventLoop () -> [([String], Double)]

  init(name: String, help: String, labels: [String], read: @escaping @EventLoop () -> [([String], Double)]) {
    self.name = name
    self.help = help
    self.labels = labels
    self.read = read
  }

  func write(to text: inout String) {
    writeHead(name, "gauge", help, to: &text)
    for (values, number) in read() {
      writeSample(name, Array(zip(labels, values)), "\(number)", to: &text)
    }
  }
}

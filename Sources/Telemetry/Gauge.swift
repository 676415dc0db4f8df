import EventLoop

/// Read from its source at the moment it is asked for.
@EventLoop
final class GaugeFamily: MetricFamily {
  private let name: String
  private let help: String
  private let label: String?
  private let read: @EventLoop () -> [(String, Double)]

  init(name: String, help: String, label: String?, read: @escaping @EventLoop () -> [(String, Double)]) {
    self.name = name
    self.help = help
    self.label = label
    self.read = read
  }

  func write(to text: inout String) {
    writeHead(name, "gauge", help, to: &text)
    for (value, number) in read() {
      writeSample(name, label, value, "\(number)", to: &text)
    }
  }
}

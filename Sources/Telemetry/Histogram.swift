public import EventLoop

/// Durations in fixed buckets, three to a decade.
@EventLoop
public final class Histogram: MetricFamily {
  /// Upper bounds in nanoseconds.
  static let bounds: [UInt64] = [
    100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000,
    10_000_000, 25_000_000, 50_000_000,
    100_000_000, 250_000_000, 500_000_000,
    1_000_000_000, 2_500_000_000, 5_000_000_000,
    10_000_000_000, 30_000_000_000, 60_000_000_000, 300_000_000_000,
  ]

  private let name: String
  private let help: String
  private var counts = [UInt64](repeating: 0, count: bounds.count + 1)
  private var sumNanoseconds: UInt64 = 0

  init(name: String, help: String) {
    self.name = name
    self.help = help
  }

  public func record(nanoseconds: UInt64) {
    var bucket = 0
    while bucket < Histogram.bounds.count, nanoseconds > Histogram.bounds[bucket] { bucket += 1 }
    counts[bucket] &+= 1
    sumNanoseconds &+= nanoseconds
  }

  func write(to text: inout String) {
    writeHead(name, "histogram", help, to: &text)
    var total: UInt64 = 0
    for (bound, count) in zip(Histogram.bounds, counts) {
      total += count
      writeSample("\(name)_bucket", "le", "\(Double(bound) / 1e9)", String(total), to: &text)
    }
    total += counts[Histogram.bounds.count]
    writeSample("\(name)_bucket", "le", "+Inf", String(total), to: &text)
    text += "\(name)_sum \(Double(sumNanoseconds) / 1e9)\n\(name)_count \(total)\n"
  }
}

public import EventLoop

/// Durations, counted in fixed buckets.
@EventLoop
public final class Histogram: MetricFamily {
  /// Upper bounds from 100 us to 5 minutes, for work.
  static let workBounds: [Duration] = [
    .microseconds(100), .microseconds(250), .microseconds(500),
    .milliseconds(1), .microseconds(2500), .milliseconds(5),
    .milliseconds(10), .milliseconds(25), .milliseconds(50),
    .milliseconds(100), .milliseconds(250), .milliseconds(500),
    .seconds(1), .milliseconds(2500), .seconds(5),
    .seconds(10), .seconds(30), .seconds(60), .seconds(300),
  ]
  /// Upper bounds from 1 ms to a day, for waiting.
  public static let waitBounds: [Duration] = [
    .milliseconds(1), .milliseconds(5), .milliseconds(10), .milliseconds(50),
    .milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5),
    .seconds(10), .seconds(30), .seconds(60), .seconds(300),
    .seconds(900), .seconds(3600), .seconds(6 * 3600), .seconds(24 * 3600),
  ]

  let head: MetricHead
  /// Upper bounds in nanoseconds.
  private let bounds: [UInt64]
  private var counts: [UInt64]
  private var sumNanoseconds: UInt64 = 0

  init(_ head: MetricHead, bounds: [Duration]) {
    self.head = head
    self.bounds = bounds.map { UInt64($0.nanoseconds) }
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  public func record(nanoseconds: UInt64) {
    var bucket = 0
    while bucket < bounds.count, nanoseconds > bounds[bucket] { bucket += 1 }
    counts[bucket] &+= 1
    sumNanoseconds &+= nanoseconds
  }

  func writeSamples(to text: inout String) {
    var total: UInt64 = 0
    for (bound, count) in zip(bounds, counts) {
      total += count
      head.writeSample(suffix: "_bucket", ["le"], ["\(Double(bound) / 1e9)"], String(total), to: &text)
    }
    total += counts[bounds.count]
    head.writeSample(suffix: "_bucket", ["le"], ["+Inf"], String(total), to: &text)
    head.writeSample(suffix: "_sum", [], [], "\(Double(sumNanoseconds) / 1e9)", to: &text)
    head.writeSample(suffix: "_count", [], [], String(total), to: &text)
  }
}

import EventLoop

/// Waiting times between attempts: full jitter under a ceiling that doubles.
struct Backoff {
  let minimum: Duration
  let maximum: Duration
  private var failures = 0

  init(minimum: Duration, maximum: Duration) {
    self.minimum = minimum
    self.maximum = maximum
  }

  /// How long to wait now, after one more failure.
  mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    var ceiling = minimum
    for _ in 0..<failures where ceiling < maximum { ceiling *= 2 }
    failures += 1
    let nanoseconds = min(ceiling, maximum).nanoseconds
    return .nanoseconds(Int64.random(in: 0...nanoseconds, using: &generator))
  }

  mutating func reset() {
    failures = 0
  }
}

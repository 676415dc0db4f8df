/// How long to wait before the next attempt: full jitter below a bound that doubles.
struct Backoff {
  static let firstBound = Duration.milliseconds(100)
  static let lastBound = Duration.seconds(5)

  private(set) var attempts = 0

  mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    let doublings = min(attempts, 16)
    attempts += 1
    let bound = min(Backoff.lastBound, Backoff.firstBound * (1 << doublings))
    return bound * Double.random(in: 0...1, using: &generator)
  }

  mutating func reset() {
    attempts = 0
  }
}

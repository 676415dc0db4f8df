/// Times from `enqueuedAt` to the end of a job, counted in buckets.
public struct LatencyCounts: Sendable, Equatable {
  /// Upper bounds of the buckets, in milliseconds. The last bucket has none.
  public static let bounds: [Int] = [
    1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000,
  ]

  /// Jobs in each bucket, one more than there are bounds.
  public package(set) var buckets = [Int](repeating: 0, count: bounds.count + 1)
  /// The sum of all times, in milliseconds.
  public package(set) var sum = 0

  public init() {}

  mutating func record(milliseconds: Int) {
    buckets[LatencyCounts.bucket(of: milliseconds)] += 1
    sum += milliseconds
  }

  static func bucket(of milliseconds: Int) -> Int {
    var bucket = 0
    while bucket < bounds.count, milliseconds > bounds[bucket] { bucket += 1 }
    return bucket
  }
}

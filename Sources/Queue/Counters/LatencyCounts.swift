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

  /// The number of jobs.
  public var count: Int { buckets.reduce(0, +) }

  mutating func record(milliseconds: Int) {
    buckets[LatencyCounts.bucket(of: milliseconds)] += 1
    sum += milliseconds
  }

  static func bucket(of milliseconds: Int) -> Int {
    var bucket = 0
    while bucket < bounds.count, milliseconds > bounds[bucket] { bucket += 1 }
    return bucket
  }

  /// Returns the time below which the share `quantile` of the jobs ended, in milliseconds; nil without jobs.
  ///
  /// The jobs of a bucket are taken to be spread evenly over it. Above the last bound the result is that bound.
  public func quantile(_ quantile: Double) -> Double? {
    let count = count
    guard count > 0 else { return nil }
    let rank = min(max(quantile, 0), 1) * Double(count)
    var below = 0.0
    for (bucket, jobs) in buckets.enumerated() where jobs > 0 {
      guard bucket < LatencyCounts.bounds.count else { break }
      let upper = Double(LatencyCounts.bounds[bucket])
      guard below + Double(jobs) < rank else {
        let lower = bucket == 0 ? 0 : Double(LatencyCounts.bounds[bucket - 1])
        return lower + (upper - lower) * max(0, rank - below) / Double(jobs)
      }
      below += Double(jobs)
    }
    return Double(LatencyCounts.bounds[LatencyCounts.bounds.count - 1])
  }

  package mutating func add(_ other: LatencyCounts) {
    for index in buckets.indices { buckets[index] += other.buckets[index] }
    sum += other.sum
  }
}

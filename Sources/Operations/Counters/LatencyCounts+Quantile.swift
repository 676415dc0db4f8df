public import Queue

/// What operators read of the times of jobs.
extension LatencyCounts {
  /// The number of jobs.
  public var count: Int { buckets.reduce(0, +) }

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

  mutating func add(_ other: LatencyCounts) {
    for index in buckets.indices { buckets[index] += other.buckets[index] }
    sum += other.sum
  }
}

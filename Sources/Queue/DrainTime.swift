/// How long the fleet needs for the jobs of its queues.
public enum DrainTime {
  /// A finite number also without live workers: autoscalers refuse infinity.
  public static let maximumSeconds = 3600.0

  /// Returns how long workers with these rates need for `jobs`; at most ``maximumSeconds``.
  public static func seconds(jobs: Int64, rates: some Sequence<Double>) -> Double {
    guard jobs > 0 else { return 0 }
    return min(Double(jobs) / rates.reduce(0, +), maximumSeconds)
  }

  /// Returns the jobs that a worker ends in a second, by its report. An idle worker has no rate to measure: it counts with one
  /// job in a second for each of its permits.
  public static func rate(_ report: WorkerReport) -> Double {
    max(report.jobsPerSecond, Double(report.concurrency))
  }
}

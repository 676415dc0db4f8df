import Operations
import Queue

/// The charts of what the fleet did.
enum HistoryChart {
  private static let series = ["Accepted", "Refused", "Uncertain"]

  /// `buckets`: the minutes, the earliest first.
  static func lastHour(_ buckets: [CounterBucket]) -> BarChart {
    BarChart(
      title: "Pushes, last hour", series: series, bars: buckets.map { bar($0, clock($0)) },
      ends: ("\(buckets.count) min ago", "now"), unit: "minute")
  }

  /// `buckets`: the hours, the earliest first.
  static func lastDays(_ buckets: [CounterBucket]) -> BarChart {
    BarChart(
      title: "Pushes, last \(buckets.count) hours", series: series,
      bars: buckets.map { bar($0, "\(TimeText.exact($0.start * 1000).prefix(10)) \(clock($0))") },
      ends: ("\(buckets.count) h ago", "now"), unit: "hour")
  }

  private static func bar(_ bucket: CounterBucket, _ title: String) -> BarChart.Bar {
    BarChart.Bar(title: title, values: [bucket.accepted, bucket.failed, bucket.uncertain])
  }

  /// `14:05 UTC`
  private static func clock(_ bucket: CounterBucket) -> String {
    "\(TimeText.exact(bucket.start * 1000).dropFirst(11).prefix(5)) UTC"
  }
}

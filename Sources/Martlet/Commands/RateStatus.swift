import JSON
import Jobs
import Queue
import Redis

/// What the fleet did in the last hour, for `martlet status`.
struct RateStatus {
  /// How many reasons and apps the text names.
  private static let maximumNames = 5

  let hour: CounterBucket

  init(_ hour: CounterBucket) {
    self.hour = hour
  }

  /// Returns nil if the Redis user may not read the counters.
  static func read(from connection: RedisClient) async throws(RedisError) -> RateStatus? {
    do {
      return RateStatus(.sum(try await CounterHistory.read(last: .minutes(60), connection: connection)))
    } catch .reply {
      return nil
    }
  }

  /// Two to four lines.
  var text: String {
    guard !hour.isEmpty else { return "\nlast hour: no jobs\n" }
    var text = "\nlast hour: \(hour.endedJobs) jobs ended (\(RateStatus.rate(hour.perSecond(hour.endedJobs)))/s), "
    text += "\(hour.retries) retries, \(hour.accepted) pushes accepted, \(hour.failed) failed, "
    text += "\(hour.uncertain) uncertain\n"
    if !hour.refusals.isEmpty {
      let most = hour.refusals.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(RateStatus.maximumNames)
      text += "refused: " + most.map { "\($0.key) \($0.value)" }.joined(separator: ", ") + "\n"
    }
    let quantiles = [("half", 0.5), ("95 %", 0.95), ("99 %", 0.99)].compactMap { name, share in
      hour.latency.quantile(share).map { "\(name) within \(RateStatus.time($0))" }
    }
    if !quantiles.isEmpty { text += "from enqueuedAt to the end: " + quantiles.joined(separator: ", ") + "\n" }
    return text
  }

  /// Appends `"lastHour":{"seconds","jobs","accepted",…}`.
  func write(to writer: inout JSONWriter) {
    writer.key("lastHour")
    writer.beginObject()
    writer.key("seconds")
    writer.integer(hour.seconds)
    RateStatus.write("jobs", hour.jobs.map { ($0.key.rawValue, $0.value) }, to: &writer)
    for (name, count) in [
      ("ended", hour.endedJobs), ("retries", hour.retries), ("accepted", hour.accepted), ("failed", hour.failed),
      ("stale", hour.stale), ("uncertain", hour.uncertain),
    ] {
      writer.key(name)
      writer.integer(count)
    }
    RateStatus.write("refusals", hour.refusals.map { ($0.key, $0.value) }, to: &writer)
    RateStatus.write("claims", hour.claims.map { ($0.key, $0.value) }, to: &writer)
    writer.key("latency")
    writer.beginObject()
    writer.key("count")
    writer.integer(hour.latency.count)
    for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
      guard let milliseconds = hour.latency.quantile(share) else { continue }
      writer.key(name)
      writer.integer(Int64(milliseconds.rounded()))
    }
    writer.endObject()
    writer.endObject()
  }

  private static func write(_ key: String, _ counts: [(String, Int)], to writer: inout JSONWriter) {
    writer.key(key)
    writer.beginObject()
    for (name, count) in counts.sorted(by: { $0.0 < $1.0 }) {
      writer.key(name)
      writer.integer(count)
    }
    writer.endObject()
  }

  private static func rate(_ rate: Double) -> String {
    rate >= 10 ? "\(Int(rate.rounded()))" : "\((rate * 10).rounded() / 10)"
  }

  /// `milliseconds` in the unit that suits it.
  static func time(_ milliseconds: Double) -> String {
    switch milliseconds {
    case ..<1000: "\(Int(milliseconds.rounded())) ms"
    case ..<60_000: "\((milliseconds / 100).rounded() / 10) s"
    default: "\(Int((milliseconds / 60_000).rounded())) min"
    }
  }
}

import JSON
import Jobs
import Operations
import Queue
import Redis

/// What the fleet did in the last hour, for `martlet status`.
struct RateStatus {
  /// How many reasons and apps the text names.
  private static let maximumNames = 5

  let hour: CounterBucket

  /// Returns nil if the Redis user may not read the counters.
  static func read(from connection: RedisClient) async throws(RedisError) -> RateStatus? {
    do {
      return RateStatus(hour: .sum(try await CounterHistory.read(last: .minutes(60), connection: connection)))
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

  /// `{"seconds","jobs","accepted",…}`
  var json: JSONObject {
    func quantile(_ share: Double) -> Int64? { hour.latency.quantile(share).map { Int64($0.rounded()) } }
    return [
      "seconds": hour.seconds,
      "jobs": JSONObject(Dictionary(uniqueKeysWithValues: hour.jobs.map { ($0.key.rawValue, $0.value) })),
      "ended": hour.endedJobs, "retries": hour.retries, "accepted": hour.accepted, "failed": hour.failed,
      "stale": hour.stale, "uncertain": hour.uncertain, "refusals": JSONObject(hour.refusals),
      "claims": JSONObject(hour.claims),
      "latency": [
        "count": hour.latency.count, "p50": quantile(0.5), "p95": quantile(0.95), "p99": quantile(0.99),
      ] as JSONObject,
    ]
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

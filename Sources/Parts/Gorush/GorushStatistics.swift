import EventLoop
import Jobs
import JSON
import Queue
import Redis

/// What the fleet did in the last 72 hours, from its counters: docs/http/gorush-api.md.
struct GorushStatistics {
  /// Sums of these fit.
  private static let amounts = 1...1 << 48
  private static let fields = CounterField.outcomes + CounterField.statuses

  private var amounts: [String: Int] = [:]

  /// Costs Redis one exchange for its time, and one for all hours.
  @EventLoop
  static func read(_ connection: RedisClient) async throws(RedisError) -> GorushStatistics {
    let time = try await connection.send(RedisCommand("TIME")).array?.first?.string?.integer(in: 0...Int64.max) ?? 0
    let last = time / 3600
    let hours = (0..<Int64(CounterLimits.hours)).map { CounterKeys.hour(last - $0) }
    var statistics = GorushStatistics()
    for answer in await connection.exchange(hours.map { RedisCommand("HMGET", [$0] + fields) }) {
      for (field, value) in zip(fields, try answer.get().array ?? []) {
        statistics.amounts[field, default: 0] += value.string?.integer(in: amounts) ?? 0
      }
    }
    return statistics
  }

  private func pushes(_ outcomes: CountedPush...) -> Int {
    outcomes.reduce(0) { $0 + (amounts[CounterField.pushes + $1.rawValue] ?? 0) }
  }

  /// Jobs that ended with one of `statuses`.
  private func jobs(_ statuses: [JobStatus]) -> Int {
    statuses.reduce(0) { $0 + (amounts[CounterField.jobs + $1.rawValue] ?? 0) }
  }

  func object(version: String) -> JSONObject {
    let good: [JobStatus] = [.accepted, .partial]
    let (success, all) = (jobs(good), jobs(JobStatus.allCases.filter(\.isFinal)))
    let (accepted, failed) = (pushes(.accepted), pushes(.failed, .stale, .uncertain))
    let none: JSONObject = ["push_success": 0, "push_error": 0]
    return [
      "version": version, "busy_workers": 0, "success_tasks": success, "failure_tasks": all - success,
      "submitted_tasks": all, "total_count": accepted + failed,
      "ios": ["push_success": accepted, "push_error": failed] as JSONObject, "android": none, "huawei": none,
    ]
  }
}

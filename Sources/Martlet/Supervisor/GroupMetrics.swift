import Telemetry

/// The metrics of several worker processes under the names and labels of one.
///
/// Pure. What processes that have ended had counted stays in the sums: a counter that falls looks like a restart, and its rate
/// would jump.
struct GroupMetrics {
  /// Gauges whose meaning does not ask for a sum. Those of queues are the same in every process, as they are the fleet's.
  static let rules: [String: MergedMetrics.GaugeRule] = [
    "martlet_jobs_outstanding": .sum,
    "martlet_pushes_in_flight": .sum,
    "martlet_concurrency_limit": .sum,
    "martlet_queue_drain_seconds": .maximum,
    "martlet_queue_jobs": .maximum,
    "martlet_queue_oldest_seconds": .maximum,
    "martlet_queue_paused": .maximum,
    "martlet_redis_connected": .minimum,
    "martlet_redis_clock_offset_seconds": .farthest,
    "martlet_apns_pending": .sum,
    "martlet_apns_open_connections": .sum,
    "martlet_apns_provider_token_age_seconds": .maximum,
    "martlet_apns_paused_routes": .maximum,
    "martlet_apns_stopped_removals": .maximum,
    "martlet_apns_refused_keys": .maximum,
    "martlet_apns_unreachable_gateways": .maximum,
    "martlet_app_pushes_in_flight": .sum,
    "martlet_app_concurrency_limit": .sum,
    "martlet_app_jobs_waiting": .sum,
    "martlet_webhook_lag_seconds": .maximum,
    "martlet_webhook_parked": .maximum,
    "martlet_build_info": .maximum,
    "process_resident_memory_bytes": .sum,
    "process_virtual_memory_bytes": .sum,
    // The process that is nearest to its limit counts, and the supervisor has run the longest.
    "process_open_fds": .maximum,
    "process_max_fds": .minimum,
    "process_start_time_seconds": .minimum,
  ]

  /// The newest page of each process that runs, by its place.
  private var pages: [Int: MetricsPage] = [:]
  /// What processes that have ended had counted.
  private var ended = MetricsPage()

  /// Returns one page. `answers` are the texts of the processes that answered, by place; of one that did not, what it had counted
  /// before stays. `own` is the page of the supervisor itself.
  mutating func merge(_ answers: [Int: String], own: String) -> String {
    for (place, text) in answers { pages[place] = MetricsPage(parsing: text) }
    let all = pages.sorted { $0.key < $1.key }.map { answers[$0.key] == nil ? $0.value.cumulative : $0.value }
    return MergedMetrics.merge(all + [ended, MetricsPage(parsing: own)], gauges: GroupMetrics.rules).text
  }

  /// A process has ended.
  mutating func remove(_ place: Int) {
    guard let page = pages.removeValue(forKey: place) else { return }
    ended = MergedMetrics.merge([ended, page.cumulative], gauges: [:])
  }
}

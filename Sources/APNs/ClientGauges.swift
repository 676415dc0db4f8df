import EventLoop
import PushModel
import Telemetry

/// The metrics that are read from clients, summed over all clients of a process.
@EventLoop
enum ClientGauges {
  static func register(_ metrics: Metrics, clients: @escaping @EventLoop () -> [APNsClient]) {
    metrics.gauge(
      "martlet_apns_paused_routes", labels: ["environment", "topic", "reason"],
      help: "1 for each paused route, at most 20",
      worry: "there is any"
    ) {
      RouteNotice.listed(clients().flatMap(\.pausedRoutes)).map(\.sample)
    }
    metrics.gauge(
      "martlet_apns_stopped_removals", labels: ["environment", "topic", "reason"],
      help: "1 for each route whose stale tokens are not removed, at most 20",
      worry: "there is any"
    ) {
      RouteNotice.listed(clients().flatMap(\.stoppedRemovals)).map(\.sample)
    }
    metrics.gauge(
      "martlet_apns_open_connections", labels: ["environment"],
      help: "connections that take pushes, for `APNS_USE_SANDBOX`'s environment and those that pushes were sent to",
      worry: "it is 0"
    ) {
      var counts: [PushEnvironment: Int] = [:]
      for client in clients() {
        for (environment, count) in client.openConnections { counts[environment, default: 0] += count }
      }
      return PushEnvironment.allCases.compactMap { environment in
        counts[environment].map { ([environment.rawValue], Double($0)) }
      }
    }
    metrics.gauge(
      "martlet_apns_held_back_pushes",
      help: "pushes that wait for APNs' flow control or for a free stream",
      worry: "it stays above 0: raise [`APNS_CONNECTIONS_MAX`](apns.md#connections)"
    ) {
      Double(clients().reduce(0) { $0 + $1.heldBack })
    }
    metrics.gauge(
      "martlet_apns_provider_token_age_seconds",
      help: """
        age of the provider token in use, with [apps](apps.md) of the oldest. All workers and sidecars with one \
        key renew it at the same moment, every 3000 s, while pushes are sent.
        """,
      worry: "it is over 3300 although pushes are sent: APNs refuses it at 3600"
    ) {
      clients().compactMap(\.tokenAge).max().map(Double.init)
    }
    metrics.gauge(
      "martlet_apns_refused_keys", labels: ["team", "key"],
      help: "1 for each provider key that APNs refuses while its team has [another](apps.md#keys), at most 20",
      worry: "there is any"
    ) {
      KeyNotice.listed(clients().flatMap(\.refusedKeys)).map { ([$0.teamID, $0.keyID], 1) }
    }
  }
}

extension RouteNotice {
  fileprivate var sample: ([String], Double) { ([environment.rawValue, topic, reason], 1) }

  /// Returns the longest standing of `notices`, at most ``maximumListed``.
  static func listed(_ notices: [RouteNotice]) -> [RouteNotice] {
    Array(notices.sorted { ($0.since, $0.topic) < ($1.since, $1.topic) }.prefix(maximumListed))
  }
}

extension APNsClient {
  /// The age of the provider token in seconds; nil if none is in use.
  var tokenAge: Int64? {
    let now = Clock.monotonicNanoseconds
    let isInUse = !opensOnDemand || allPools.contains { !$0.isIdle(for: APNsClient.recentUse, now: now) }
    return isInUse ? keys.token.age : nil
  }

  /// The provider keys that APNs refuses while the team has another one.
  public var refusedKeys: [KeyNotice] { keys.hasSeveral && !isReplaced ? keys.notices : [] }

  /// A token without a push for this long is not in use: it is renewed with the next push.
  private static let recentUse = Duration.seconds(60)
}

import EventLoop
import PushModel
import Telemetry

/// Counts and logs the ends of connections: each at level debug, the first of its reason within a minute at its own level.
@EventLoop
final class ConnectionEnds {
  private let log: Log
  private let counters: CounterFamily
  private let interval: UInt64
  /// When an end with this reason was last logged at its own level, on CLOCK_MONOTONIC, nanoseconds.
  private var loggedAt: [String: UInt64] = [:]
  /// The last one that says something about a gateway.
  private(set) var latest: ConnectionEndNotice?

  init(metrics: Metrics, log: Log, interval: Duration = .seconds(60)) {
    self.log = log
    self.interval = interval.unsignedNanoseconds
    counters = metrics.counters(
      "martlet_apns_connection_ends_total", label: "reason",
      help: """
        connections to APNs that ended: APNs' reason or the HTTP/2 error of its GOAWAY (`other` if unknown); \
        `no_goaway` (closed without one), `no_settings`, `no_pong`, `no_answer`, `invalid_http2`, `refused` \
        (replaced, as it [refused pushes](apns.md#connections)); by the process itself `key_changed`, \
        `topics_added`, `not_needed`, `streams_used_up`, `lease_in_doubt`, `closed`
        """,
      worry: "anything grows but `Shutdown`, `IdleTimeout`, `NO_ERROR` and the process's own")
    // A counter that is absent until it is needed has no increase when it appears.
    for end in [ConnectionEnd.lost(""), .noAnswer, .noPong] { _ = counters[end.reason] }
  }

  /// `seconds` is how long the connection was open; `now` is on CLOCK_MONOTONIC, nanoseconds.
  func record(_ end: ConnectionEnd, origin: Origin, seconds: UInt64, now: UInt64) {
    let reason = end.reason
    counters[reason].increment()
    if end.isOfGateway {
      latest = ConnectionEndNotice(reason: reason, gateway: origin.url, at: Clock.unixMilliseconds)
    }
    let isRepeated = loggedAt[reason].map { now < $0 + interval } ?? false
    if !isRepeated { loggedAt[reason] = now }
    // Operator: See `reason` (as in `martlet_apns_connection_ends_total`), `cause` and `fix`. Nothing, unless it
    // repeats. Level `info` for an ordinary end, `debug` for the process's own; repeated within a minute at `debug`.
    let message: StaticString = "APNs connection ended"
    let fields: KeyValuePairs<String, Log.Field> = [
      "reason": .init(reason), "cause": .init(end.text), "origin": .init(origin.url), "seconds": .init(seconds),
      "fix": .init(ConnectionFix.text(for: end.text)),
    ]
    switch isRepeated ? .debug : end.level {
    case .warn, .error: log.warn(message, fields)
    case .info: log.info(message, fields)
    case .debug: log.debug(message, fields)
    }
  }
}

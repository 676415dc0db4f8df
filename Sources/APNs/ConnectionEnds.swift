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
      help: "Connections to APNs that ended: APNs' reason, the name of the HTTP/2 error, or what was missing.")
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
    let message: StaticString = "APNs connection ended"
    let fields: KeyValuePairs<String, Log.Field> = [
      "reason": .init(reason), "cause": .init(end.text), "origin": .init(origin.url), "seconds": .init(seconds),
      "fix": .init(ConnectionFix.text(for: end.text)),
    ]
    switch isRepeated ? .debug : end.level {
    case .debug: log.debug(message, fields)
    case .info: log.info(message, fields)
    case .warn, .error: log.warn(message, fields)
    }
  }
}

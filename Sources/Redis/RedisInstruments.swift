public import EventLoop
public import Telemetry

/// The metrics of a process' connections to Redis.
@EventLoop
public final class RedisInstruments {
  /// The codes by which a server that works refuses commands: its memory is full, it is a replica, it cannot write to its
  /// disk, too few replicas follow it, or its user may not run the command, or not on this key.
  nonisolated static let codes = ["OOM", "READONLY", "MISCONF", "NOREPLICAS", "NOPERM"]

  private let refusals: CounterFamily

  /// Observes `connection`. To count the refusals of further connections, set their ``RedisClient/instruments``.
  public init(_ metrics: Metrics, connection: RedisClient) {
    refusals = metrics.counters(
      "martlet_redis_refusals_total", label: "code", help: "Commands that Redis refused, by the code of its error.")
    // A counter that is absent until it is needed has no increase when it appears.
    for code in RedisInstruments.codes { _ = refusals[code] }
    metrics.gauge("martlet_redis_connected", help: "1 if the connection to Redis can be used, else 0.") {
      [weak connection] in connection?.isReady == true ? 1 : 0
    }
    connection.instruments = self
  }

  func record(_ error: RedisReplyError) {
    let code = error.cause
    if RedisInstruments.codes.contains(code) { refusals[code].increment() }
  }
}

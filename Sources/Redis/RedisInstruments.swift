public import EventLoop
public import Telemetry

/// The metrics of a process' connections to Redis.
@EventLoop
public final class RedisInstruments {
  private let refusals: CounterFamily

  /// Observes `connection`. To count the refusals of further connections, set their ``RedisClient/instruments``.
  public init(_ metrics: Metrics, connection: RedisClient) {
    refusals = metrics.counters(
      "martlet_redis_refusals_total", label: "code", help: "Commands that Redis refused, by the code of its error.")
    // A counter that is absent until it is needed has no increase when it appears.
    for code in RefusalCode.allCases { _ = refusals[code.rawValue] }
    metrics.gauge("martlet_redis_connected", help: "1 if the connection to Redis can be used, else 0.") {
      [weak connection] in connection?.isReady == true ? 1 : 0
    }
    connection.instruments = self
  }

  func record(_ error: RedisReplyError) {
    if let code = error.refusalCode { refusals[code.rawValue].increment() }
  }
}

/// Why a server that works refuses commands.
enum RefusalCode: String, CaseIterable {
  /// Its memory is full.
  case outOfMemory = "OOM"
  /// It is a replica.
  case readOnly = "READONLY"
  /// It cannot write to its disk.
  case cannotPersist = "MISCONF"
  /// Too few replicas follow it.
  case tooFewReplicas = "NOREPLICAS"
  /// Its user may not run the command, or not on this key.
  case notPermitted = "NOPERM"
}

extension RedisReplyError {
  /// Nil if Redis did not refuse the command for one of these reasons.
  var refusalCode: RefusalCode? { RefusalCode(rawValue: cause) }
}

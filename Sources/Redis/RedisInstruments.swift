public import EventLoop
public import Telemetry

/// The metrics of a process' connections to Redis.
@EventLoop
public final class RedisInstruments {
  /// The codes by which a server that works refuses commands: its memory is full, it is a replica, it cannot write to its
  /// disk, too few replicas follow it, or its user may not run the command, or not on this key.
  nonisolated static let codes = ["OOM", "READONLY", "MISCONF", "NOREPLICAS", "NOPERM"]

  private let refusals: CounterFamily
  private let log: Log
  private var told = ToldReasons()
  private var forbidden: (reason: String, at: UInt64)?

  /// Why Redis did not run a command for its user within the last minute; nil if it ran all of them.
  public var missingRight: String? {
    forbidden.flatMap { Clock.monotonicNanoseconds < $0.at + 60_000_000_000 ? $0.reason : nil }
  }

  /// Observes `connection`. To count the refusals of further connections, set their ``RedisClient/instruments``.
  public init(_ metrics: Metrics, connection: RedisClient, log: Log) {
    self.log = log
    refusals = metrics.counters(
      "martlet_redis_refusals_total", label: "code",
      help: """
        commands that Redis refused: `OOM` (full), `READONLY` (a replica), `MISCONF` (it cannot write to its \
        disk), `NOREPLICAS`, `NOPERM` (ACL)
        """,
      worry: "it grows: Redis takes no jobs or registrations")
    // A counter that is absent until it is needed has no increase when it appears.
    for code in RedisInstruments.codes { _ = refusals[code] }
    metrics.gauge(
      "martlet_redis_connected",
      help: "1 if the connection to Redis can be used, else 0",
      worry: "it is 0"
    ) {
      [weak connection] in connection?.isReady == true ? 1 : 0
    }
    connection.instruments = self
  }

  /// Counts a refusal. Of a right that is missing, the log tells, too.
  package func record(_ error: RedisReplyError) {
    let code = error.cause
    if RedisInstruments.codes.contains(code) { refusals[code].increment() }
    if code == "NOPERM" { warnOfMissingRight(error.message) }
  }

  /// Operators may take a right away at any time, and no connection is closed for that.
  private func warnOfMissingRight(_ reason: String) {
    let now = Clock.monotonicNanoseconds
    forbidden = (reason, now)
    guard told.tells(reason, at: now) else { return }
    // Operator: Give the user the rights of its file: [A right that is missing](redis.md#a-right-that-is-missing).
    log.warn(
      "Redis does not let its user run a command, which ACL LOG names; give it the rights of deploy/redis/users.acl",
      ["error": .init(reason)])
  }
}

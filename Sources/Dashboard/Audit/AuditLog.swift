import EventLoop
import JSON
import Redis
import Telemetry

/// What operators did: a stream in Redis, and a log line for each entry.
@EventLoop
struct AuditLog {
  nonisolated static let key = "martlet:{audit}:log"
  /// About this many entries are kept.
  private static let maximumEntries = 10_000
  /// Longer texts are cut. Bytes: one character may have any number of them.
  nonisolated private static let maximumText = 600

  let connection: RedisClient
  let log: Log

  /// Writes the log line, then the entry. Throws if Redis did not take the entry.
  func write(_ entry: AuditEntry) async throws(RedisError) {
    let (subject, outcome) = (
      entry.subject.prefix(bytes: AuditLog.maximumText), entry.outcome.prefix(bytes: AuditLog.maximumText)
    )
    log.info(
      "operator action",
      [
        "operator": .init(entry.operator), "action": .init(entry.action), "subject": .init(subject),
        "outcome": .init(outcome),
      ])
    var command = RedisCommand("XADD", AuditLog.key, "MAXLEN", "~", String(AuditLog.maximumEntries), "*")
    for (name, value) in [
      ("at", String(entry.at)), ("operator", entry.operator), ("action", entry.action), ("subject", subject),
      ("outcome", outcome),
    ] {
      command.append(name)
      command.append(value)
    }
    _ = try await connection.send(command)
  }

  /// Returns up to `count` entries before the one with the id `before`, the newest first. Nil for the newest of all.
  func read(before: String?, count: Int) async throws(RedisError) -> [AuditEntry] {
    var command = RedisCommand("XREVRANGE", AuditLog.key, before.map { "(\($0)" } ?? "+", "-", "COUNT")
    command.append(count)
    return try await connection.send(command).array?.compactMap(AuditEntry.init) ?? []
  }
}

import EventLoop
import JSON
import Redis
import Telemetry

/// What operators did: two streams in Redis, and a log line for each entry.
///
/// Entries that changed nothing go to a second stream, with a limit for each operator and minute. So a viewer cannot
/// displace the entries of others.
@EventLoop
final class AuditLog {
  /// The streams that are read.
  enum Part: String, Sendable, CaseIterable {
    case all = ""
    /// What was done, or failed on the way.
    case actions
    /// What changed nothing: refused actions, sign-ins, sign-outs.
    case refused

    var keys: [String] {
      switch self {
      case .all: [AuditLog.key, AuditLog.refusedKey]
      case .actions: [AuditLog.key]
      case .refused: [AuditLog.refusedKey]
      }
    }
  }

  /// | `martlet:{audit}:log`, `martlet:{audit}:refused` | stream, about 10,000 entries | none | what operators did, and
  /// what changed nothing (refused actions, sign-ins, sign-outs): `at`, `operator`, `action`, `subject`, `outcome` |
  nonisolated static let key = "martlet:{audit}:log"
  nonisolated static let refusedKey = "martlet:{audit}:refused"
  /// About this many entries are kept of each stream.
  nonisolated static let maximumEntries = 10_000
  /// Longer texts are cut. Bytes: one character may have any number of them.
  nonisolated static let maximumText = 2000
  /// The window of the limit.
  private static let window = Duration.seconds(60)

  private let connection: RedisClient
  private let log: Log
  private var refusals = AuditLimit()
  private var signIns = AuditLimit()
  private var timer: LoopTimer?

  init(connection: RedisClient, log: Log) {
    self.connection = connection
    self.log = log
  }

  /// Writes the log line, then the entry. An entry that changed nothing is only counted if its operator has many of them.
  /// Returns false if Redis did not take the entry, which is logged.
  @discardableResult
  func write(_ entry: AuditEntry) async -> Bool {
    guard entry.hasNoEffect else { return await append(entry, to: AuditLog.key) }
    if timer == nil { timer = .after(AuditLog.window) { [weak self] in self?.endWindow() } }
    guard entry.isOfAccess ? signIns.admits(entry.operator) : refusals.admits(entry.operator) else { return true }
    return await append(entry, to: AuditLog.refusedKey)
  }

  /// Writes how many entries were only counted.
  func flush() async {
    timer = nil
    for (what, omitted) in [("refused actions", refusals.end()), ("sign-ins and sign-outs", signIns.end())] {
      for (name, count) in omitted { await write(count, what, of: name) }
    }
  }

  private func write(_ omitted: Int, _ what: String, of name: String) async {
    let entry = AuditEntry(
      at: Clock.unixMilliseconds, operator: name, action: "several", subject: "\(omitted) more in the same minute",
      outcome: "refused: only \(AuditLimit.entries) \(what) of an operator are listed a minute")
    await append(entry, to: AuditLog.refusedKey)
  }

  private func endWindow() {
    EventLoop.start { [self] in await flush() }
  }

  @discardableResult
  private func append(_ entry: AuditEntry, to key: String) async -> Bool {
    let (subject, outcome) = (
      entry.subject.prefix(bytes: AuditLog.maximumText), entry.outcome.prefix(bytes: AuditLog.maximumText)
    )
    log.info(
      "operator action",
      [
        "operator": .init(entry.operator), "action": .init(entry.action), "subject": .init(subject),
        "outcome": .init(outcome),
      ])
    let fields = [
      "at", String(entry.at), "operator", entry.operator, "action", entry.action, "subject", subject, "outcome",
      outcome,
    ]
    do {
      _ = try await connection.send(
        DashboardScripts.appendEntry(log: key, most: AuditLog.maximumEntries, fields: RedisList(fields)))
      return true
    } catch {
      // Operator: The action was carried out. See `reason`.
      log.warn("an action is missing in the audit log of redis", ["reason": .init("\(error)")])
      return false
    }
  }

  /// Returns up to `count` entries before the one with the id `before`, the newest first. Nil for the newest of all.
  func read(_ part: Part = .all, before: String?, count: Int) async throws(RedisError) -> [AuditEntry] {
    let commands = part.keys.map { key in
      RedisCommand("XREVRANGE", key, before.map { "(\($0)" } ?? "+", "-", "COUNT").with(count)
    }
    let found = try await connection.replies(to: commands).flatMap { reply in
      reply.array?.compactMap(AuditEntry.init) ?? []
    }
    return Array(found.sorted { $0.place > $1.place }.prefix(count))
  }
}

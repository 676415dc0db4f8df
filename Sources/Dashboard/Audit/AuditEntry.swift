import JSON
import Redis

/// One action of an operator: done, refused or failed.
struct AuditEntry: Sendable, Equatable {
  /// The id of the stream entry; empty before it is written.
  var id = ""
  /// Unix milliseconds.
  var at: Int64
  var `operator`: String
  /// The name of the action: `pause`, `sign-in`.
  var action: String
  /// What it was about: `queue push:jobs`.
  var subject: String
  /// `done`, or `refused` or `failed` and the reason.
  var outcome: String

  /// Whether it has no effect: a refused action, a sign-in or a sign-out.
  var hasNoEffect: Bool { isOfAccess || outcome.hasPrefix(AuditEntry.refused) }

  /// Whether it is a sign-in or a sign-out.
  var isOfAccess: Bool { AuditEntry.accessActions.contains(action) }

  static let signIn = "sign-in"
  static let signOut = "sign-out"
  private static let accessActions = [signIn, signOut]
  private static let refused = "refused"

  /// For the order of entries of several streams.
  var place: StreamID { StreamID(parsing: id) ?? .start }
}

extension AuditEntry {
  /// Reads an entry of the stream, `[id, [field, value, …]]`. Nil if it is another program's.
  init?(_ value: RedisValue) {
    guard let parts = value.array, parts.count == 2, let id = parts[0].string, let fields = parts[1].array else {
      return nil
    }
    var values: [String: String] = [:]
    for index in stride(from: 0, to: fields.count - 1, by: 2) {
      values[fields[index].string ?? ""] = fields[index + 1].string ?? ""
    }
    guard let at = values["at"]?.integer(in: NumberRange.times), let action = values["action"] else { return nil }
    self.init(
      id: id, at: at, operator: values["operator"] ?? "", action: action, subject: values["subject"] ?? "",
      outcome: values["outcome"] ?? "")
  }
}

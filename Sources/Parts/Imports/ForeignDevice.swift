import Backup
import JSON
import PushModel

/// A device in the file of another sender. A value that is nil or empty is unknown.
struct ForeignDevice {
  var token: String?
  var user: String?
  var app: String?
  var environment: String?
  var kind: String?
  var deviceID: String?
  var createdAt: JSONValue?
  var updatedAt: JSONValue?

  /// The device, or why it is refused. A device without a date is older than every registration.
  var entry: BackupEntry {
    guard let token, !token.isEmpty else { return .refused(.noToken) }
    let members: [(String, JSONValue?)] = [
      ("username", text(user)), ("environment", text(environment)), ("kind", text(kind)), ("deviceId", text(deviceID)),
      ("createdAt", createdAt), ("updatedAt", updatedAt),
    ]
    return BackupEntry(
      app: app ?? "", token: token,
      record: .object(members.compactMap { key, value in value.map { JSONMember(key: key, value: $0) } }))
  }

  private func text(_ value: String?) -> JSONValue? { value.flatMap { $0.isEmpty ? nil : .string($0) } }

  /// A date of a database, `2026-01-31 09:30:00.123 UTC`, or in ISO 8601. Without a zone it is UTC. Nil for another form.
  static func date(_ text: String?) -> JSONValue? {
    guard var text else { return nil }
    if text.hasSuffix(" UTC") { text.removeLast(4) }
    if let space = text.firstIndex(of: " ") { text.replaceSubrange(space...space, with: "T") }
    return (Timestamp.milliseconds(text) ?? Timestamp.milliseconds(text + "Z")).map { .integer($0) }
  }
}

import Backup
import JSON
import PushModel

/// A device in the file of another sender. A value that is nil is unknown.
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
    guard let token else { return .refused(.noToken) }
    let members: [(String, JSONValue?)] = [
      ("username", text(user)), ("environment", text(environment)), ("kind", text(kind)), ("deviceId", text(deviceID)),
      ("createdAt", createdAt), ("updatedAt", updatedAt),
    ]
    return BackupEntry(
      app: app ?? "", foreignToken: token,
      record: .object(members.compactMap { key, value in value.map { JSONMember(key: key, value: $0) } }))
  }

  private func text(_ value: String?) -> JSONValue? { value.map { .string($0) } }

  /// A date of a table: of a database, `2026-01-31 09:30:00.123 UTC` or `…+00`, in ISO 8601, or a unix time in any unit. Without a
  /// zone it is UTC. Nil for another form.
  static func date(_ text: String?) -> JSONValue? {
    guard let text else { return nil }
    if let number = text.integer(in: 0...Int64.max) { return .integer(number) }
    if let seconds = text.number(in: 0...Double(Timestamp.firstMilliseconds)) {
      return (seconds * 1000).integer(in: NumberRange.times).map { .integer($0) }
    }
    var iso = text
    if iso.hasSuffix(" UTC") { iso.removeLast(4) }
    if let space = iso.firstIndex(of: " ") { iso.replaceSubrange(space...space, with: "T") }
    // A day, or a zone in hours.
    if iso.utf8.count == 10 { iso += "T00:00Z" }
    for form in [iso, iso + "Z", iso + ":00"] {
      if let time = Timestamp.milliseconds(form) { return .integer(time) }
    }
    return nil
  }
}

extension String? {
  /// Nil also where a program has written that there is no value.
  var present: String? { flatMap { AbsentValue.isInTable($0) ? nil : $0 } }
}

extension JSONValue {
  /// The string, unless it says that there is no value.
  var presentText: String? { string.present }
}

import Backup
import JSON

/// Parses installations of Azure Notification Hubs, a list of JSON objects, or the export of registrations, which has one
/// registration in XML a line.
///
/// https://learn.microsoft.com/azure/notification-hubs/export-modify-registrations-bulk
struct NotificationHubsReader: BackupSource {
  private static let maximumBytes = 256 * 1024

  private let app: String?
  private var installations: ObjectListReader
  /// Nil before the first byte.
  private var isXML: Bool?
  private var lineOfRow = 1

  init(app: String?) {
    self.app = app
    installations = ObjectListReader(.installations(app: app))
  }

  mutating func next(in window: inout JSONWindow) throws(JSONWindow.Fault) -> BackupEntry? {
    guard let byte = window.peek() else { return nil }
    if isXML == nil { isXML = byte == UInt8(ascii: "<") }
    guard isXML == true else { return try installations.next(in: &window) }
    lineOfRow = window.line
    let row = try window.row("a registration", maximumBytes: Self.maximumBytes) { text, isLast in
      text.firstIndex(of: 0x0A).map { $0 + 1 } ?? (isLast ? text.count : nil)
    }
    return row.map { entry($0.bytes) }
  }

  var mayEnd: Bool { isXML == true || installations.mayEnd }
  var line: Int { isXML == true ? lineOfRow : installations.line }
  var expectation: String { installations.expectation }

  private func entry(_ row: [UInt8]) -> BackupEntry {
    let registration = RegistrationText(text: row)
    switch registration.name {
    case "AppleRegistrationDescription", "AppleTemplateRegistrationDescription": break
    case let name?: return .refused(name.hasSuffix("RegistrationDescription") ? .otherPlatform : .malformedRecord)
    case nil: return .refused(.malformedRecord)
    }
    let tags = (registration.element("Tags") ?? "").split(separator: ",").map(String.init)
    return ForeignDevice(token: registration.element("DeviceToken").present, user: HubTags.user(tags), app: app).entry
  }
}

extension ObjectListReader.Form {
  /// https://learn.microsoft.com/rest/api/notificationhubs/create-overwrite-installation
  static func installations(app: String?) -> Self {
    Self(wrapper: "\"value\"", list: "installations", element: "an installation") { installation in
      guard installation["platform"]?.string?.lowercased() == "apns" else { return [.refused(.otherPlatform)] }
      guard installation["pushChannelExpired"]?.bool != true else { return [.refused(.disabled)] }
      let tags = installation["tags"]?.array?.compactMap(\.string) ?? []
      return [
        ForeignDevice(
          token: installation["pushChannel"]?.presentText,
          user: installation["userId"]?.presentText ?? HubTags.user(tags), app: app
        ).entry
      ]
    }
  }
}

/// The tags of a device in a notification hub.
private enum HubTags {
  private static let user = "$UserId:"

  /// The value of `$UserId:{alice}`, the tag that the service itself gives to the devices of a user.
  static func user(_ tags: [String]) -> String? {
    for tag in tags {
      let tag = tag.drop { $0 == " " }
      guard tag.hasPrefix(user) else { continue }
      let value = tag.dropFirst(user.count)
      return Optional(String(value.hasPrefix("{") && value.hasSuffix("}") ? value.dropFirst().dropLast() : value))
        .present
    }
    return nil
  }
}

/// A registration in XML, of which only elements with text are read.
private struct RegistrationText {
  let text: [UInt8]

  /// Of the first element; a declaration may stand before it.
  var name: String? {
    let start = text.starts(with: "<?".utf8) ? position(behind: "?>") ?? 0 : 0
    guard let first = text[start...].firstIndex(of: UInt8(ascii: "<")) else { return nil }
    return string(text[(first + 1)...].prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: ">") })
  }

  /// The text of the first element of this name; nil if it is not UTF-8. Templates, which come behind the elements that are read,
  /// may contain anything.
  func element(_ name: String) -> String? {
    guard let start = position(behind: "<\(name)>"), let end = position(behind: "</\(name)>", from: start) else {
      return nil
    }
    let text = string(text[start..<end - name.utf8.count - 3])
    guard let text, text.contains("&") else { return text }
    return RegistrationText.entities.reduce(text) { text, entity in text.replacing(entity.0, with: entity.1) }
  }

  private static let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]

  private func string(_ bytes: ArraySlice<UInt8>) -> String? { String(validating: bytes, as: UTF8.self) }

  private func position(behind part: String, from start: Int = 0) -> Int? {
    let part = Array(part.utf8)
    var rest = text[start...]
    while let index = rest.firstIndex(of: part[0]) {
      rest = rest[index...]
      if rest.starts(with: part) { return index + part.count }
      rest.removeFirst()
    }
    return nil
  }
}

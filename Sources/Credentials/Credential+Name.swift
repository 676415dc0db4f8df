import PushModel

extension Credential {
  /// Bytes.
  private static let nameLength = 1...128

  /// The name as it stands in redis: of a user trimmed and lower-cased. Nil when it is none.
  public static func normalized(_ name: String, of kind: Kind) -> String? {
    let name = kind == .user ? Username.normalized(name) : name
    guard nameLength.contains(name.utf8.count) else { return nil }
    let isGood =
      switch kind {
      case .user: name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      case .key: name.utf8.allSatisfy(DeviceToken.contains)
      // Its record would stand where the notification records of another instance are.
      case .instance: name.utf8.allSatisfy(DeviceToken.contains) && !name.hasSuffix(":notifications")
      }
    return isGood ? name : nil
  }

  /// What ``normalized(_:of:)`` takes, for who gave it something else.
  public static func expectedName(of kind: Kind) -> String {
    switch kind {
    case .user: "1 to 128 bytes without control characters"
    case .key: "1 to 128 letters, digits or any of ._:-"
    case .instance: "1 to 128 letters, digits or any of ._:-, not ending in :notifications"
    }
  }
}

import PushModel

/// The names and limits of a backup file, docs/backup.md:
/// `{"<bundle id>":{"<token>":{"createdAt","updatedAt","username","platform","environment"}}}`, dates in ISO 8601.
enum BackupFormat {
  /// Of tokens that name no app.
  static let noApp = ""

  /// Beside the bundle ids, which have no colon: readers that know apps only never ask for it.
  static let reserved = "martlet:"
  static let instances = "martlet:instances"

  /// Bytes, quotes included.
  static let maximumKeyBytes = 2048
  /// Bytes of one record.
  static let maximumRecordBytes = 16 * 1024

  private static let bundleIDLength = 0...200
  /// 256 characters of four bytes.
  private static let usernameLength = 0...1024

  static func isBundleID(_ text: String) -> Bool {
    bundleIDLength.contains(text.utf8.count)
      && text.utf8.allSatisfy { DeviceToken.contains($0) && $0 != UInt8(ascii: ":") }
  }

  static func isUsername(_ text: String) -> Bool {
    usernameLength.contains(text.utf8.count)
      && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }

  /// Old push servers stored what iOS called a token's description: `<0a1b2c3d …>`.
  static func token(_ text: String) -> String? {
    let bytes = text.utf8.filter { $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">") && $0 != 0x20 }
    return DeviceToken.isWellFormed(bytes) ? String(decoding: bytes, as: UTF8.self) : nil
  }
}

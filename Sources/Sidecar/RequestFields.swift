import PushModel
import JSON
import Registry

/// What the documents' fields may hold. Each function takes what was sent, nil when nothing was.
enum RequestFields {
  static let deviceTokenFormat = "Invalid device token format (must be 64-character hex string)"

  /// Characters of a user id.
  private static let userIDLength = 1...256
  /// Of a device token today.
  private static let hexTokenDigits = 64
  /// Apple may make device tokens longer: their length is not to be relied on.
  private static let tokenDigits = 20...200
  /// Of a device token with white space and angle brackets.
  private static let maximumTokenTextBytes = 2048

  /// 64 hexadecimal digits, in lower case: so that one device is not there twice.
  static func hexToken(_ value: String?, _ field: String) throws(Refusal) -> String {
    guard let token = value.flatMap(lowercasedHex), token.utf8.count == hexTokenDigits else {
      throw Refusal(400, deviceTokenFormat, field)
    }
    return token
  }

  /// The same of a device that has to be found: one that another surface registered in upper case is there as it was written.
  static func spellings(_ value: String?, _ field: String) throws(Refusal) -> [String] {
    let token = try hexToken(value, field)
    return value == token ? [token] : [token] + [value].compactMap { $0 }
  }

  /// 20 to 512 characters, as iOS or another system gave it: `<abcd 1234 …>`, the description of iOS' data, is read, too.
  static func anyToken(_ value: String?, _ field: String) throws(Refusal) -> String {
    let value = value ?? ""
    let token = value.utf8.count > maximumTokenTextBytes ? "" : value.filter { !"<> ".contains($0) }
    guard DeviceToken.isWellFormed(token.utf8) else {
      throw Refusal(400, "Invalid device token", "\(field): expected 20 to 512 letters, digits or any of :_-.")
    }
    return token.utf8.count == hexTokenDigits ? lowercasedHex(token) ?? token : token
  }

  /// Trimmed and lower-cased, as everywhere in the registry.
  static func userID(_ value: String?) throws(Refusal) -> String {
    let id = Username.normalized(value ?? "")
    let isPrintable = !id.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
    guard userIDLength.contains(id.unicodeScalars.count), isPrintable else {
      throw Refusal(400, "Invalid userId", "userId: expected 1 to 256 characters, not blank, no control characters")
    }
    return id
  }

  /// Nil when there is none, or an empty one.
  static func bundleID(_ value: JSONValue?, _ field: String) throws(Refusal) -> String? {
    guard let value, value != .null, value != .string("") else { return nil }
    guard let id = value.string, BundleID.isWellFormed(id) else {
      throw Refusal(400, "Invalid bundleId", "\(field): expected 1 to 200 letters, digits or any of ._-")
    }
    return id
  }

  /// A device token of APNs: 20 to 200 hexadecimal digits, in lower case. Nil when it is none.
  static func lowercasedHex(_ text: String) -> String? {
    guard tokenDigits.contains(text.utf8.count),
      text.utf8.allSatisfy({ isDigit($0) || (isLetter($0) && $0 | 0x20 <= UInt8(ascii: "f")) })
    else { return nil }
    return text.lowercased()
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}

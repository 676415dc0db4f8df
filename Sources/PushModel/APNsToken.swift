/// Why a text cannot be a token of APNs. The raw value says so to whoever has sent it.
public enum TokenFault: String, Error {
  case firebase = "a token of Firebase: ask the app for its APNs token"
  case expo = "a token of Expo: ask the app for its device push token"
  case uuid = "a UUID, and no token of APNs: an id of an installation or of a subscription"
  case digits = "a token of APNs has 64 to 512 hexadecimal digits, an even number"
  case text = "not a token of APNs: expected 64 to 512 hexadecimal digits, or base64 of at least 32 bytes"
}

// The forms in which programs write tokens of APNs.
extension DeviceToken {
  /// Of a token of APNs.
  private static let digits = 64...512
  /// Of a text with white space and angle brackets.
  private static let maximumTextBytes = 2048

  /// The token of APNs that `text` is: hexadecimal digits of either case, also as `0x…`, `\x…` or `<0a1b2c3d …>`, or base64 in
  /// either alphabet.
  public init(apns text: String) throws(TokenFault) {
    if DeviceToken.isOfAPNs(text) {
      self.init(text)
      return
    }
    let bytes = text.utf8.count > DeviceToken.maximumTextBytes ? [] : text.utf8.filter { !" \t\r\n".utf8.contains($0) }
    let bare = DeviceToken.bare(bytes)
    let isDigits = bare.allSatisfy(DeviceToken.isDigit)
    // Base64 of a token may begin as a prefix does. Digits of a wrong number are no base64.
    guard let digits = DeviceToken.isOfAPNs(bare) ? bare : isDigits ? nil : DeviceToken.digits(ofBase64: bytes) else {
      throw DeviceToken.fault(of: bare)
    }
    self.init(String(decoding: digits, as: UTF8.self))
  }

  /// Whether `text` is 64 to 512 hexadecimal digits, an even number.
  public static func isOfAPNs(_ text: String) -> Bool { text.utf8.span.withUnsafeBufferPointer { isOfAPNs($0) } }

  private static func isOfAPNs(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBufferPointer { isOfAPNs($0) } }

  private static func isOfAPNs(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.count <= digits.upperBound && bytes.count % 2 == 0 && isHexadecimal(bytes)
  }

  /// The text without angle brackets and prefix.
  private static func bare(_ text: [UInt8]) -> [UInt8] {
    let bytes = text.filter { !"<>".utf8.contains($0) }
    return ["0x", "0X", "\\x"].contains { bytes.starts(with: $0.utf8) } ? Array(bytes.dropFirst(2)) : bytes
  }

  private static func fault(of bytes: [UInt8]) -> TokenFault {
    let text = String(decoding: bytes, as: UTF8.self)
    if text.hasPrefix("ExponentPushToken[") || text.hasPrefix("ExpoPushToken[") { return .expo }
    if isOfFirebase(text) { return .firebase }
    if bytes.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: "-") }) {
      let groups = text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count)
      return groups == [8, 4, 4, 4, 12] ? .uuid : .digits
    }
    return .text
  }

  /// Firebase's tokens have two parts, of which the second began with `APA91b` for years; older ones have only that.
  private static func isOfFirebase(_ text: String) -> Bool {
    text.hasPrefix("APA91b") || text.contains(":APA91b") || text.contains(":") && text.utf8.count > 100
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6 }

  private static let hexadecimal = Array("0123456789abcdef".utf8)

  /// The hexadecimal digits of base64 of 32 bytes or more; nil for any other text, and for one without letters of both cases:
  /// such a text is made of words, while base64 of random bytes has both. Decoded here, as this module is below `Crypto`.
  private static func digits(ofBase64 text: [UInt8]) -> [UInt8]? {
    let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    let text = text.dropLast(padding)
    let letters = (text.contains { (0x41...0x5A).contains($0) }, text.contains { (0x61...0x7A).contains($0) })
    guard padding == 0 ? text.count % 4 != 1 : (text.count + padding) % 4 == 0, letters == (true, true),
      !isOfFirebase(String(decoding: text, as: UTF8.self))
    else { return nil }
    var digits: [UInt8] = []
    var (bits, count): (UInt32, UInt32) = (0, 0)
    for byte in text {
      guard let value = sextet(byte) else { return nil }
      bits = bits << 6 | value
      count += 6
      while count >= 4 {
        count -= 4
        digits.append(hexadecimal[Int(bits >> count & 15)])
      }
      bits &= (1 << count) - 1
    }
    // What is left belongs to no byte, and encoders write zeros there.
    if digits.count % 2 == 1 { guard digits.popLast() == UInt8(ascii: "0") else { return nil } }
    return bits == 0 && isOfAPNs(digits) ? digits : nil
  }

  private static func sextet(_ byte: UInt8) -> UInt32? {
    switch byte {
    case 0x41...0x5A: UInt32(byte - 0x41)
    case 0x61...0x7A: UInt32(byte - 0x61) + 26
    case 0x30...0x39: UInt32(byte - 0x30) + 52
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }
}

/// The token of a device, in the one form in which it is compared, stored and looked up.
///
/// APNs' tokens are bytes, and apps write them as hexadecimal digits of either case: a token of 64 or more of these is in lower
/// case. Every other text is as it came.
public struct DeviceToken: Sendable, Hashable {
  public let text: String

  /// The token that an app, a producer or a stored record writes as `text`, which should be well-formed.
  public init(_ text: String) {
    self.text = DeviceToken.isOwnForm(of: text) ? text : text.lowercased()
  }

  /// Text that is not a token of APNs, so that its case matters: of a device that is registered as `android`, or the id of a channel.
  public init(verbatim text: String) {
    self.text = text
  }

  /// What programs write that keep APNs' tokens in upper case. Nil if there is no other form.
  package var upperCased: String? {
    guard DeviceToken.isHexadecimal(text.utf8) else { return nil }
    let upper = text.uppercased()
    return upper == text ? nil : upper
  }

  // MARK: - Forms

  /// Whether `token` is 20 to 512 letters, digits, `:`, `_`, `.` or `-`. Source: docs/http/push-api.md.
  public static func isWellFormed(_ token: String) -> Bool {
    token.utf8.span.withUnsafeBufferPointer { isWellFormed($0) }
  }

  public static func isWellFormed(_ token: [UInt8]) -> Bool { token.withUnsafeBufferPointer { isWellFormed($0) } }

  private static func isWellFormed(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    (bytes.count <= Charset.token.length.upperBound && isHexadecimal(bytes)) || Charset.token.accepts(bytes)
  }

  /// Whether the entry of a set is written in the one form of its token, or is no token of APNs.
  public static func isOwnForm(_ entry: [UInt8]) -> Bool { entry.withUnsafeBufferPointer { isOwnForm($0) } }

  private static func isOwnForm(of text: String) -> Bool { text.utf8.span.withUnsafeBufferPointer { isOwnForm($0) } }

  private static func isOwnForm(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count >= minimumDigits else { return true }
    // Neither loop has an early exit, so that the compiler can vectorize it.
    var upper: UInt8 = 0
    for byte in bytes { upper |= byte &- 0x41 < 6 ? 1 : 0 }
    return upper == 0 || !isHexadecimal(bytes)
  }

  /// Whether these are digits of an APNs token.
  static func isHexadecimal(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count >= minimumDigits else { return false }
    var other: UInt8 = 0
    for byte in bytes { other |= byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6 ? 0 : 1 }
    return other == 0
  }

  private static func isHexadecimal(_ text: String.UTF8View) -> Bool {
    text.span.withUnsafeBufferPointer { isHexadecimal($0) }
  }

  /// APNs' tokens have 32 bytes or more.
  private static let minimumDigits = 64

  package static func contains(_ byte: UInt8) -> Bool { Charset.token.contains(byte) }
}

extension DeviceToken: Comparable {
  public static func < (left: DeviceToken, right: DeviceToken) -> Bool { left.text < right.text }
}

extension DeviceToken: CustomStringConvertible {
  public var description: String { text }
}

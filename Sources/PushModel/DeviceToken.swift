/// The form of device tokens, from docs/http/push-api.md.
public enum DeviceToken {
  /// Characters.
  public static let length = Charset.token.length

  /// 20 to 512 letters, digits, `:`, `_`, `-` or `.`.
  public static func isWellFormed(_ token: String.UTF8View) -> Bool {
    length.contains(token.count) && token.allSatisfy(contains)
  }

  /// The same of bytes.
  public static func isWellFormed(_ token: [UInt8]) -> Bool {
    length.contains(token.count) && token.allSatisfy(contains)
  }

  package static func contains(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "a")...UInt8(ascii: "z"): true
    case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: false
    }
  }
}

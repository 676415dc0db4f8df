/// The form of a device token.
public enum DeviceToken {
  public static let minimumBytes = 20
  public static let maximumBytes = 512

  /// 20 to 512 of `A-Za-z0-9:_.-`; nil for anything else.
  public static func parse(_ bytes: [UInt8]) -> String? {
    guard (minimumBytes...maximumBytes).contains(bytes.count), bytes.allSatisfy(isAllowed) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"): true
    default: false
    }
  }
}

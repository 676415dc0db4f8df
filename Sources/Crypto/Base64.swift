/// RFC 4648 section 4, with padding.
public enum Base64 {
  public static func encode(_ bytes: [UInt8]) -> String {
    let text = Base64URL.encode(bytes).map { character in
      switch character {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: character
      }
    }
    return String(decoding: text, as: UTF8.self) + String(repeating: "=", count: (3 - bytes.count % 3) % 3)
  }

  /// Returns nil if no bytes encode to `text`. The padding may be missing.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? { decode(bytes: Array(text)) }

  /// Not generic, because messages of Celery are decoded here, and the compiler specialises only within the module.
  private static func decode(bytes text: [UInt8]) -> [UInt8]? {
    let digits = text.prefix { $0 != UInt8(ascii: "=") }
    let padding = text.count - digits.count
    guard padding == 0 || (text.count % 4 == 0 && padding <= 2 && text.suffix(padding).allSatisfy { $0 == 0x3D })
    else { return nil }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(digits.count)
    for digit in digits {
      switch digit {
      case UInt8(ascii: "+"): decoded.append(UInt8(ascii: "-"))
      case UInt8(ascii: "/"): decoded.append(UInt8(ascii: "_"))
      case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
      default: decoded.append(digit)
      }
    }
    return Base64URL.decode(decoded)
  }
}

/// RFC 4648 section 5, without padding.
public enum Base64URL {
  public static func encode(_ bytes: [UInt8]) -> [UInt8] {
    Base64.digits(bytes).prefix { $0 != UInt8(ascii: "=") }.map { digit in
      switch digit {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: digit
      }
    }
  }

  /// Returns nil if no bytes encode to `text`.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    let digits = text.map { digit in
      switch digit {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      // Of base64 alone: no digit.
      case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): 0 as UInt8
      default: digit
      }
    }
    return Base64.decode(digits)
  }
}

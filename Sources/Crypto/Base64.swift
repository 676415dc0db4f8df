import COpenSSL

/// RFC 4648 section 4, with padding.
public enum Base64 {
  public static func encode(_ bytes: [UInt8]) -> String { String(decoding: digits(bytes), as: UTF8.self) }

  /// The digits, with their padding.
  static func digits(_ bytes: [UInt8]) -> [UInt8] {
    // OpenSSL writes a zero behind them.
    [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { digits, count in
      count = Int(EVP_EncodeBlock(digits.baseAddress, bytes, Int32(bytes.count)))
    }
  }

  /// Returns nil if no bytes encode to `text`. The padding may be missing.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? { decode(bytes: Array(text)) }

  /// Not generic, because messages of Celery are decoded here, and the compiler specialises only within the module.
  private static func decode(bytes text: [UInt8]) -> [UInt8]? {
    let padding = UInt8(ascii: "=")
    guard text.count % 4 == 0 || text.last != padding else { return nil }
    let padded = text + [UInt8](repeating: padding, count: (4 - text.count % 4) % 4)
    let bytes = [UInt8](unsafeUninitializedCapacity: padded.count / 4 * 3) { bytes, count in
      let decoded = Int(EVP_DecodeBlock(bytes.baseAddress, padded, Int32(padded.count)))
      count = max(0, decoded - padded.reversed().prefix { $0 == padding }.count)
    }
    // OpenSSL also reads white space, and bits that are lost.
    return digits(bytes) == padded ? bytes : nil
  }
}

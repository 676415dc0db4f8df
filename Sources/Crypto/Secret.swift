import COpenSSL

/// Unguessable values, and their comparison.
public enum Secret {
  /// Returns 256 bits from the system's generator as base64url.
  public static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    return String(decoding: Base64URL.encode(bytes), as: UTF8.self)
  }

  /// Compares in a time that depends only on the lengths.
  public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }
}

import COpenSSL

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// 32 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] { Digest.of(bytes, Digest.sha256, count: 32) }

  /// 64 hexadecimal digits.
  public static func hex(_ text: String) -> String { Hex.encode(digest(Array(text.utf8))) }
}

/// SHA-1, the name of a script in Redis. Not used for security.
public enum SHA1 {
  /// 40 hexadecimal digits.
  public static func hex(_ bytes: [UInt8]) -> String { Hex.encode(Digest.of(bytes, Digest.sha1, count: 20)) }
}

private enum Digest {
  // Never changed. Fetched once, because OpenSSL would look the algorithm up for each digest.
  nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
  nonisolated(unsafe) static let sha1 = EVP_MD_fetch(nil, "SHA1", nil)

  static func of(_ bytes: [UInt8], _ algorithm: OpaquePointer?, count: Int) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: count)
    let isComputed = EVP_Digest(bytes, bytes.count, &digest, nil, algorithm, nil) == 1
    precondition(isComputed, "OpenSSL cannot compute the digest")
    return digest
  }
}

/// Hexadecimal digits, lower case.
public enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  public static func encode(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: bytes.count * 2) { text in
      for (place, byte) in bytes.enumerated() {
        text[2 * place] = digits[Int(byte >> 4)]
        text[2 * place + 1] = digits[Int(byte & 15)]
      }
      return bytes.count * 2
    }
  }
}

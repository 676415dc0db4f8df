import COpenSSL

/// SHA-256 (FIPS 180-4).
public enum SHA256 {
  /// 32 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] { Digest.of(bytes, EVP_sha256(), count: 32) }

  /// 64 hexadecimal digits.
  public static func hex(_ text: String) -> String { Hex.encode(digest(Array(text.utf8))) }
}

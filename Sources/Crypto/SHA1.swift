import COpenSSL

/// SHA-1: by its name redis knows a script. Nothing is secured with it.
public enum SHA1 {
  /// 40 hexadecimal digits.
  public static func hex(_ text: String) -> String { Hex.encode(Digest.of(Array(text.utf8), EVP_sha1(), count: 20)) }
}

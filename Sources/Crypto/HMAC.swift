import COpenSSL

/// HMAC with SHA-256 (RFC 2104).
public enum HMACSHA256 {
  /// 32 bytes.
  public static func code(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    let made = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, &count)
    precondition(made != nil && count == 32, "OpenSSL cannot compute the code")
    return code
  }
}

import COpenSSL

/// A Lua script, run by its digest.
public struct RedisScript: Sendable {
  let source: String
  /// 40 hexadecimal digits.
  let sha1: String

  public init(_ source: String) {
    self.source = source
    sha1 = RedisScript.digest(source)
  }

  private static func digest(_ source: String) -> String {
    var source = source
    var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
    let isComputed = source.withUTF8 { EVP_Digest($0.baseAddress, $0.count, &digest, nil, EVP_sha1(), nil) == 1 }
    precondition(isComputed, "SHA-1 is part of every OpenSSL that redis scripts can be used with")
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  func command(keys: [String]) -> RedisCommand {
    var command = RedisCommand("EVALSHA")
    command.append(sha1)
    command.append(keys.count)
    for key in keys { command.append(key) }
    return command
  }
}

import Crypto

/// A Lua script, run by its digest.
public struct RedisScript: Sendable {
  let source: String
  /// 40 hexadecimal digits.
  let sha1: String

  public init(_ source: String) {
    self.source = source
    sha1 = SHA1.hex(source)
  }

  func command(keys: [String]) -> RedisCommand {
    var command = RedisCommand("EVALSHA")
    command.append(sha1)
    command.append(keys.count)
    for key in keys { command.append(key) }
    return command
  }
}

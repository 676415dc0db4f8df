import Crypto
import EventLoop

/// A Lua script, which is called by its digest.
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

extension RedisConnection {
  /// Calls `script` by its digest. The closure `arguments` appends ARGV.
  ///
  /// If Redis does not know the script (NOSCRIPT), its source is sent once; then it runs after commands that were sent
  /// after it. ``preload(_:)`` makes that rare.
  public func call(
    _ script: RedisScript, keys: [String], timeout: Duration? = nil, arguments: (inout RedisCommand) -> Void,
    _ completion: @escaping Completion
  ) {
    var command = script.command(keys: keys)
    arguments(&command)
    run(command, of: script, timeout: timeout, completion)
  }

  /// Sends `command` without a reply, by `CLIENT REPLY SKIP`, and then calls `script` in the same write.
  ///
  /// The reply of the script arrives after both have finished, however long `command` blocks.
  public func call(
    _ script: RedisScript, keys: [String], behindSilent command: RedisCommand, timeout: Duration? = nil,
    arguments: (inout RedisCommand) -> Void, _ completion: @escaping Completion
  ) {
    var call = script.command(keys: keys)
    arguments(&call)
    let silent = [RedisCommand("CLIENT", "REPLY", "SKIP"), command]
    run(call, behind: silent, of: script, timeout: timeout, completion)
  }

  func run(
    _ command: RedisCommand, behind silent: [RedisCommand] = [], of script: RedisScript, timeout: Duration?,
    _ completion: @escaping Completion
  ) {
    send(command, behind: silent, timeout: timeout) { [weak self] result in
      guard let self, case .failure(.reply(let error)) = result, error.code == "NOSCRIPT" else {
        return completion(result)
      }
      send(command.evaluating(script.source), timeout: timeout, completion)
    }
  }
}

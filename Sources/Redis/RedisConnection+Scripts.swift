import EventLoop

extension RedisConnection {
  /// Runs `script` by its digest; `arguments` appends ARGV.
  ///
  /// When redis does not know the script (NOSCRIPT) it is sent whole, once: then it runs AFTER commands that were sent
  /// behind it. ``preload(_:)`` makes that rare.
  public func call(
    _ script: RedisScript, keys: [String], timeout: Duration? = nil, arguments: (inout RedisCommand) -> Void,
    _ completion: @escaping Completion
  ) {
    var command = script.command(keys: keys)
    arguments(&command)
    run(command, of: script, timeout: timeout, completion)
  }

  /// As ``call(_:keys:timeout:arguments:_:)``, right behind `command`, whose reply never leaves redis: `CLIENT REPLY SKIP`
  /// stands before it. The reply of the script comes when both are done, however long `command` blocks.
  public func call(
    _ script: RedisScript, keys: [String], behindSilent command: RedisCommand, timeout: Duration? = nil,
    arguments: (inout RedisCommand) -> Void, _ completion: @escaping Completion
  ) {
    var call = script.command(keys: keys)
    arguments(&call)
    let silent = [RedisCommand("CLIENT", "REPLY", "SKIP"), command]
    run(call, behind: silent, of: script, timeout: timeout, completion)
  }

  /// As ``call(_:keys:timeout:arguments:_:)`` with ARGV as strings.
  public func run(
    _ script: RedisScript, keys: [String], arguments: [String] = [], timeout: Duration? = nil,
    _ completion: @escaping Completion
  ) {
    call(
      script, keys: keys, timeout: timeout,
      arguments: { command in for argument in arguments { command.append(argument) } }, completion)
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

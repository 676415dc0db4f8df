import EventLoop

extension RedisConnection {
  /// Calls a script by its digest.
  ///
  /// If Redis does not know the script (NOSCRIPT), its source is sent once; then it runs after commands that were sent
  /// after it. ``preload(_:)`` makes that rare.
  public func send(_ call: RedisCall, timeout: Duration? = nil, _ completion: @escaping Completion) {
    run(call.command, of: call.script, timeout: timeout, completion)
  }

  /// Sends `command` without a reply, by `CLIENT REPLY SKIP`, and then `call` in the same write.
  ///
  /// The reply of the script arrives after both have finished, however long `command` blocks.
  public func send(
    _ call: RedisCall, behindSilent command: RedisCommand, timeout: Duration? = nil, _ completion: @escaping Completion
  ) {
    let silent = [RedisCommand("CLIENT", "REPLY", "SKIP"), command]
    run(call.command, behind: silent, of: call.script, timeout: timeout, completion)
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

import EventLoop

extension RedisConnection {
  /// Sends `command` and waits for its reply; an error reply is thrown as ``RedisError/reply(_:)``.
  public func send(_ command: RedisCommand, timeout: Duration? = nil) async throws(RedisError) -> RedisValue {
    let result = await withCheckedContinuation { continuation in
      send(command, timeout: timeout) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// ``call(_:keys:timeout:arguments:_:)`` that waits for the reply.
  public func call(
    _ script: RedisScript, keys: [String], timeout: Duration? = nil, arguments: (inout RedisCommand) -> Void = { _ in }
  ) async throws(RedisError) -> RedisValue {
    var command = script.command(keys: keys)
    arguments(&command)
    let result = await withCheckedContinuation { continuation in
      run(command, of: script, timeout: timeout) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  /// ``run(_:keys:arguments:timeout:_:)`` that waits for the reply.
  public func run(
    _ script: RedisScript, keys: [String], arguments: [String] = [], timeout: Duration? = nil
  ) async throws(RedisError) -> RedisValue {
    try await call(script, keys: keys, timeout: timeout) { command in
      for argument in arguments { command.append(argument) }
    }
  }
}

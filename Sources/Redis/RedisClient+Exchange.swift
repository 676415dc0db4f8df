import EventLoop

extension RedisClient {
  /// Sends all commands at once and returns their replies, in the order of the commands.
  public func exchange(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>] {
    await EventLoop.gather(commands) { command, reply in
      send(command) { reply($0.mapError { $0.naming(command.keys) }) }
    }
  }

  /// Sends all commands at once and returns their replies, in the order of the commands. A key of another type counts as
  /// absent; any other error is thrown.
  public func replies(to commands: [RedisCommand]) async throws(RedisError) -> [RedisValue] {
    var values: [RedisValue] = []
    for reply in await exchange(commands) { values.append(try reply.absentIfWrongType()) }
    return values
  }
}

extension Result<RedisValue, RedisError> {
  /// The value; null for an error that says that the key has another type.
  public func absentIfWrongType() throws(RedisError) -> RedisValue {
    if case .failure(let error) = self, error.isWrongType { return .null }
    return try get()
  }
}

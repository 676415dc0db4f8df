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
    for reply in await exchange(commands) {
      if case .failure(let error) = reply, error.isWrongType {
        values.append(.null)
      } else {
        values.append(try reply.get())
      }
    }
    return values
  }
}

import EventLoop

extension RedisClient {
  /// Sends all commands at once and returns their replies, in the order of the commands.
  public func exchange(_ commands: [RedisCommand]) async -> [Result<RedisValue, RedisError>] {
    guard !commands.isEmpty else { return [] }
    return await withCheckedContinuation { continuation in
      var replies: [Result<RedisValue, RedisError>?] = Array(repeating: nil, count: commands.count)
      var missing = commands.count
      for (index, command) in commands.enumerated() {
        send(command) { reply in
          replies[index] = reply.mapError { $0.naming(command.keys) }
          missing -= 1
          if missing == 0 { continuation.resume(returning: replies.compactMap { $0 }) }
        }
      }
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

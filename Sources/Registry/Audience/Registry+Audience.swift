import EventLoop
public import Redis

extension Registry {
  /// Tokens of one page, when nothing else is asked for.
  public static let defaultPageSize = 500

  /// Reads up to `limit` entries of an app's audience, from `cursor` on. A page may be short or empty and have a next one.
  ///
  /// `onNext` is told, at most once and before the page itself is there, where the next one begins: it can be asked for
  /// meanwhile.
  public func page(
    app: String, from cursor: AudienceCursor, limit: Int = Registry.defaultPageSize,
    onNext: @escaping @EventLoop (AudienceCursor?) -> Void = { _ in },
    completion: @escaping @EventLoop (Result<AudiencePage, RedisError>) -> Void
  ) {
    // One entry could be the empty one, and a cursor behind it would begin anew.
    gather(app, from: cursor, limit: max(limit, 2), entries: []) { [self] result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let (entries, next)):
        onNext(next)
        judge(entries, of: app, next: next, completion)
      }
    }
  }

  /// ``page(app:from:limit:completion:)`` that waits for the answer.
  public func page(
    app: String, from cursor: AudienceCursor, limit: Int = Registry.defaultPageSize
  ) async throws(RedisError) -> AudiencePage {
    let result = await withCheckedContinuation { continuation in
      page(app: app, from: cursor, limit: limit) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  private typealias Gathered = (entries: [[UInt8]], next: AudienceCursor?)

  /// Goes through the shards until there are enough entries.
  private func gather(
    _ app: String, from cursor: AudienceCursor, limit: Int, entries: [[UInt8]],
    _ completion: @escaping @EventLoop (Result<Gathered, RedisError>) -> Void
  ) {
    let wanted = limit - entries.count
    var command = RedisCommand("ZRANGE", RegistryKeys.audience(app, shard: cursor.shard))
    command.append(cursor.lastEntry.isEmpty ? Array("-".utf8) : Array("(".utf8) + cursor.lastEntry)
    command.append("+" as String)
    for word in ["BYLEX", "LIMIT", "0"] { command.append(word) }
    command.append(wanted)
    connection.send(command) { [self] result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let value):
        let found = (value.array ?? []).compactMap(\.bytes)
        let entries = entries + found
        if found.count >= wanted, let last = found.last {
          return completion(.success((entries, AudienceCursor(shard: cursor.shard, lastEntry: last))))
        }
        guard cursor.shard + 1 < AudienceShard.count else { return completion(.success((entries, nil))) }
        let next = AudienceCursor(shard: cursor.shard + 1, lastEntry: [])
        gather(app, from: next, limit: limit, entries: entries, completion)
      }
    }
  }

  private func judge(
    _ entries: [[UInt8]], of app: String, next: AudienceCursor?,
    _ completion: @escaping @EventLoop (Result<AudiencePage, RedisError>) -> Void
  ) {
    guard !entries.isEmpty else { return completion(.success(AudiencePage(devices: [], removals: [], next: next))) }
    var command = RedisCommand("MGET")
    for entry in entries { command.append(RegistryKeys.token(entry)) }
    connection.send(command) { result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let value):
        var resolution = Resolution()
        for (entry, metadata) in zip(entries, value.array ?? []) {
          resolution.apply(Ownership.judge(entry: entry, metadata: metadata.bytes, app: app))
        }
        completion(
          .success(AudiencePage(devices: resolution.devices, removals: resolution.removals, next: next)))
      }
    }
  }
}

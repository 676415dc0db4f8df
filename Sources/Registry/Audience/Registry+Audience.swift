import EventLoop
public import Redis

/// Some devices of an app's audience.
public struct AudiencePage: Sendable, Equatable {
  public let devices: [Device]
  /// Entries for ``Registry/clean(app:_:completion:)``.
  public let removals: [Removal]
  /// The start of the next page; nil after the last.
  public let next: AudienceCursor?

  package init(devices: [Device], removals: [Removal], next: AudienceCursor?) {
    self.devices = devices
    self.removals = removals
    self.next = next
  }
}

extension Registry {
  /// Default number of entries of a page.
  public static let defaultPageSize = 500

  /// Reads up to `limit` entries of an app's audience from `cursor` on. A page that has a next one may be short or
  /// empty.
  ///
  /// Calls `onNext` at most once with the start of the next page, before the page is complete, so that the next one can
  /// be read at the same time.
  public func page(
    app: String, from cursor: AudienceCursor, limit: Int = Registry.defaultPageSize,
    onNext: @escaping @EventLoop (AudienceCursor?) -> Void = { _ in },
    completion: @escaping @EventLoop (Result<AudiencePage, RedisError>) -> Void
  ) {
    // With a limit of 1 the only entry could be empty, and a cursor after it would start the shard again.
    gather(app, from: cursor, limit: max(limit, 2), entries: []) { [self] result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let (entries, next)):
        onNext(next)
        decide(entries, of: app, next: next, completion)
      }
    }
  }

  /// Reads a page as ``page(app:from:limit:completion:)`` does, and returns it.
  public func page(
    app: String, from cursor: AudienceCursor, limit: Int = Registry.defaultPageSize
  ) async throws(RedisError) -> AudiencePage {
    let result = await withCheckedContinuation { continuation in
      page(app: app, from: cursor, limit: limit) { continuation.resume(returning: $0) }
    }
    return try result.get()
  }

  private typealias Gathered = (entries: [[UInt8]], next: AudienceCursor?)

  /// Reads shards until there are enough entries.
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

  private func decide(
    _ entries: [[UInt8]], of app: String, next: AudienceCursor?,
    _ completion: @escaping @EventLoop (Result<AudiencePage, RedisError>) -> Void
  ) {
    guard !entries.isEmpty else { return completion(.success(AudiencePage(devices: [], removals: [], next: next))) }
    connection.send(RedisCommand("MGET", entries.map(RegistryKeys.token))) { result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let value):
        var resolution = Resolution()
        for (entry, metadata) in zip(entries, value.array ?? []) {
          resolution.apply(Ownership.decide(entry: entry, metadata: metadata.bytes, app: app))
        }
        completion(
          .success(AudiencePage(devices: resolution.devices, removals: resolution.removals, next: next)))
      }
    }
  }
}

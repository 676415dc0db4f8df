import EventLoop
public import Redis

/// One page of an app's audience.
public struct AudiencePage: Sendable, Equatable {
  public let devices: [Device]
  /// Where the walk goes on; nil when it is over.
  public let next: AudienceCursor?
}

extension Registry {
  /// Up to `limit` devices behind `cursor`, in the order of their tokens. Entries that are malformed, have no metadata or are
  /// registered for another app by now are taken out of the audience.
  public func page(
    app: String, cursor: AudienceCursor, limit: Int,
    _ completion: @escaping @EventLoop (Result<AudiencePage, RedisError>) -> Void
  ) {
    let key = RegistryKeys.audience(app, shard: cursor.shard)
    let start = cursor.last.isEmpty ? "-" : "(\(cursor.last)"
    connection.send(RedisCommand("ZRANGE", key, start, "+", "BYLEX", "LIMIT", "0", "\(limit)")) { [self] result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let value):
        let entries = (value.array ?? []).compactMap(\.bytes)
        guard let last = entries.last else {
          guard let next = cursor.nextShard else { return completion(.success(AudiencePage(devices: [], next: nil))) }
          return page(app: app, cursor: next, limit: limit, completion)
        }
        // A cursor must be text: behind an entry that is not, the walk goes on by its bytes up to there.
        let behind = AudienceCursor(shard: cursor.shard, last: String(decoding: last, as: UTF8.self))
        let next = entries.count == limit ? behind : cursor.nextShard
        readMetadata(of: entries, app: app, next: next, completion)
      }
    }
  }

  private func readMetadata(
    of entries: [[UInt8]], app: String, next: AudienceCursor?,
    _ completion: @escaping @EventLoop (Result<AudiencePage, RedisError>) -> Void
  ) {
    var command = RedisCommand("MGET")
    for entry in entries { command.append(RegistryKeys.token(String(decoding: entry, as: UTF8.self))) }
    connection.send(command) { [self] result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let value):
        let metadata = (value.array ?? []).map(\.bytes)
        var devices: [Device] = []
        devices.reserveCapacity(entries.count)
        var misplaced: [[UInt8]] = []
        for (entry, bytes) in zip(entries, metadata) {
          if case .device(let device) = Ownership.judge(entry: entry, metadata: bytes, username: nil),
            device.bundleID == app
          {
            devices.append(device)
          } else {
            misplaced.append(entry)
          }
        }
        removeFromAudience(misplaced, app: app)
        completion(.success(AudiencePage(devices: devices, next: next)))
      }
    }
  }

  private func removeFromAudience(_ entries: [[UInt8]], app: String) {
    for entry in entries {
      var command = RedisCommand("ZREM", RegistryKeys.audience(app, of: String(decoding: entry, as: UTF8.self)))
      command.append(entry)
      connection.send(command) { _ in }
    }
  }
}

import EventLoop
import PushModel
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
  public func audiencePage(
    of app: String, from cursor: AudienceCursor, limit: Int = Registry.defaultPageSize,
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

  /// Reads a page as ``audiencePage(of:from:limit:completion:)`` does, and returns it.
  public func audiencePage(
    of app: String, from cursor: AudienceCursor, limit: Int = Registry.defaultPageSize
  ) async throws(RedisError) -> AudiencePage {
    let result = await withCheckedContinuation { continuation in
      audiencePage(of: app, from: cursor, limit: limit) { continuation.resume(returning: $0) }
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
    connection.send(RedisCommand("MGET", entries.map(RegistryKeys.token))) { [self] result in
      switch result {
      case .failure(let error): completion(.failure(error))
      case .success(let value):
        var resolution = Resolution()
        var others: [StoredDevice] = []
        for (entry, metadata) in zip(entries, value.array ?? []) {
          let decision = Ownership.decide(entry: entry, metadata: metadata.bytes, app: app)
          if case .remove(let removal) = decision, removal.reason == .otherForm {
            others.append(StoredDevice(String(decoding: entry, as: UTF8.self), metadata.bytes ?? []))
          } else {
            resolution.apply(decision)
          }
        }
        let page = AudiencePage(devices: resolution.devices, removals: resolution.removals, next: next)
        if others.isEmpty { completion(.success(page)) } else { add(others, of: app, to: page, completion) }
      }
    }
  }

  /// Adds devices that are stored under another form of their token, unless the token is a device of the app itself or has been
  /// registered later.
  ///
  /// They are not united here: the token may belong to a page before this one, and this page is read again after a crash.
  private func add(
    _ others: [StoredDevice], of app: String, to page: AudiencePage,
    _ completion: @escaping @EventLoop (Result<AudiencePage, RedisError>) -> Void
  ) {
    let named = others.filter { $0.metadata?.bundleID == app && $0.metadata?.kind == .app }
    guard !named.isEmpty else { return completion(.success(page)) }
    connection.send(RedisCommand("MGET", named.map { RegistryKeys.token($0.device.token) })) { result in
      completion(
        result.map { value in
          let own = (value.array ?? []).map { $0.bytes.flatMap(DeviceMetadata.init(parsing:)) }
          let devices = zip(named, own).filter { other, own in
            guard let own else { return true }
            return own.bundleID != app && own.updatedAt < other.device.updatedAt
          }
          return AudiencePage(devices: page.devices + devices.map(\.0.device), removals: page.removals, next: page.next)
        })
    }
  }
}

import EventLoop
import Redis
import Telemetry

extension Registry {
  /// Finds the devices of all queries in one pipelined exchange. The resolutions are in the order of the queries.
  public func resolve(_ queries: [DeviceQuery], completion: @escaping @EventLoop ([Resolution]) -> Void) {
    var lookups: [Lookup] = []
    var named: [(query: Int, token: String)] = []
    // Several jobs to one user share one command.
    var users: [String: Int] = [:]
    var repeated: [(query: Int, first: Int)] = []
    for (index, query) in queries.enumerated() {
      switch query {
      case .user(let user):
        if queries.count > 1, let first = users.updateValue(index, forKey: user) {
          users[user] = first
          repeated.append((index, first))
        } else {
          lookups.append(.user(user, query: index))
        }
      case .userToken(let user, let token): lookups.append(.userToken(user, token, query: index))
      case .instance(let id): lookups.append(.instance(id, query: index))
      case .token(let token): named.append((index, token))
      case .tokens(let tokens): for token in tokens { named.append((index, token)) }
      }
    }
    for batch in named.batches(of: Registry.maximumBatch) { lookups.append(.named(batch)) }
    EventLoop.gather(lookups, find) { found in
      var resolutions = [Resolution](repeating: Resolution(), count: queries.count)
      for (lookup, found) in zip(lookups, found) { lookup.add(found, to: &resolutions) }
      for (query, first) in repeated { resolutions[query] = resolutions[first] }
      completion(resolutions)
    }
  }

  /// Resolves one query. Reads the size of a user's set before the set.
  public func resolve(_ query: DeviceQuery) async -> Resolution {
    if case .user(let user) = query {
      do throws(RedisError) {
        let size = try await connection.send(RedisCommand("SCARD", RegistryKeys.userTokens(user))).integer ?? 0
        if size > Registry.maximumResolved { largeUsers.insert(user) }
      } catch {
        return Resolution(error: error)
      }
    }
    return await withCheckedContinuation { continuation in
      resolve([query]) { [self] resolutions in
        guard let user = resolutions[0].largeUser else { return continuation.resume(returning: resolutions[0]) }
        resolveLarge(user) { continuation.resume(returning: $0) }
      }
    }
  }

  private static let withMetadata: [StaticString] = ["BY", "nosort", "GET", "#", "GET", RegistryKeys.tokenPattern]

  private func find(_ lookup: Lookup, _ found: @escaping @EventLoop (Resolution) -> Void) {
    switch lookup {
    case .user(let user, _):
      if largeUsers.contains(user) {
        found(Resolution(largeUser: user))
      } else if sorts {
        findSorted(user, found)
      } else {
        findMembers(user, found)
      }
    case .userToken(let user, let token, _): find(token, of: user, found)
    case .instance(let id, _):
      connection.send(RedisCommand("GET", RegistryKeys.instance(id))) { result in
        found(
          Resolution(result) { value in
            guard let record = value.bytes.flatMap(InstanceRecord.init(parsing:)), record.isActive else {
              return Resolution()
            }
            return Resolution(devices: [
              Device(
                token: record.token, bundleID: record.bundleID, environment: record.environment,
                updatedAt: record.updatedAt)
            ])
          })
      }
    case .named(let batch):
      connection.send(RedisCommand("MGET", batch.map { RegistryKeys.token($0.token) })) { result in
        found(
          Resolution(result) { value in
            Resolution(
              devices: zip(batch, value.array ?? []).map { Ownership.device($0.token, metadata: $1.bytes) })
          })
      }
    }
  }

  /// Reads entries and their metadata with one SORT. SORT reads the whole set for any LIMIT, so a large set is
  /// read in this way only once.
  private func findSorted(_ user: String, _ found: @escaping @EventLoop (Resolution) -> Void) {
    var command = RedisCommand("SORT")
    command.append(RegistryKeys.userTokens(user))
    for word in Registry.withMetadata { command.append(word) }
    command.append("LIMIT" as StaticString)
    command.append("0" as StaticString)
    command.append(Registry.maximumResolved + 1)
    connection.send(command) { [self] result in
      if case .failure(.reply(let error)) = result, error.refusesSort {
        stopSorting(error)
        return findMembers(user, found)
      }
      found(
        Resolution(result) { value in
          let values = value.array ?? []
          guard values.count <= 2 * Registry.maximumResolved else { return large(user) }
          var resolution = Resolution()
          for pair in stride(from: 0, to: values.count - 1, by: 2) {
            guard let entry = values[pair].bytes else { continue }
            resolution.apply(Ownership.decide(entry: entry, metadata: values[pair + 1].bytes, owner: user))
          }
          return resolution
        })
    }
  }

  /// A user of Redis who may not read all keys may not use SORT with GET, and some engines do not know it.
  private func stopSorting(_ error: RedisReplyError) {
    guard sorts else { return }
    sorts = false
    log.info(
      "Redis refuses SORT with GET; the devices of users are read with two commands instead of one",
      ["error": .init(error.message)])
  }

  /// Reads entries, and then their metadata. SRANDMEMBER returns the whole set if that is not larger than the count.
  private func findMembers(_ user: String, _ found: @escaping @EventLoop (Resolution) -> Void) {
    let command = RedisCommand("SRANDMEMBER", RegistryKeys.userTokens(user)).with(Registry.maximumResolved + 1)
    connection.send(command) { [self] result in
      let entries = (try? result.get())?.array?.compactMap(\.bytes) ?? []
      guard !entries.isEmpty, entries.count <= Registry.maximumResolved else {
        return found(Resolution(result) { _ in entries.isEmpty ? Resolution() : large(user) })
      }
      connection.send(RedisCommand("MGET", entries.map(RegistryKeys.token))) { result in
        found(Resolution(result) { Resolution(entries, ($0.array ?? []).lazy.map(\.bytes), of: user) })
      }
    }
  }

  private func large(_ user: String) -> Resolution {
    largeUsers.insert(user)
    return Resolution(largeUser: user)
  }

  private func find(_ token: String, of user: String, _ found: @escaping @EventLoop (Resolution) -> Void) {
    let commands = [
      RedisCommand("SISMEMBER", RegistryKeys.userTokens(user), token), RedisCommand("GET", RegistryKeys.token(token)),
    ]
    EventLoop.gather(commands) {
      connection.send($0, $1)
    } completion: { replies in
      found(
        Resolution(replies[0]) { isMember in
          Resolution(replies[1]) { metadata in
            Resolution(isMember.integer == 1 ? [Array(token.utf8)] : [], [metadata.bytes], of: user)
          }
        })
    }
  }
}

/// What is read at once: for one query, or for the tokens that producers named in several.
private enum Lookup {
  case user(String, query: Int)
  case userToken(String, String, query: Int)
  case instance(String, query: Int)
  case named(ArraySlice<(query: Int, token: String)>)

  func add(_ found: Resolution, to resolutions: inout [Resolution]) {
    switch self {
    case .user(_, let query), .userToken(_, _, let query), .instance(_, let query): resolutions[query] = found
    case .named(let batch):
      if let error = found.error {
        for (query, _) in batch { resolutions[query] = Resolution(error: error) }
      }
      for ((query, _), device) in zip(batch, found.devices) where resolutions[query].error == nil {
        resolutions[query].devices.append(device)
      }
    }
  }
}

extension Resolution {
  fileprivate init(_ result: Result<RedisValue, RedisError>, _ read: (RedisValue) -> Resolution) {
    switch result {
    case .success(let value): self = read(value)
    case .failure(let error): self.init(error: error)
    }
  }

  /// Decides about entries of a user's set with their metadata.
  init(_ entries: [[UInt8]], _ metadata: some Sequence<[UInt8]?>, of user: String) {
    self.init()
    for (entry, metadata) in zip(entries, metadata) {
      apply(Ownership.decide(entry: entry, metadata: metadata, owner: user))
    }
  }
}

extension RedisReplyError {
  /// Whether SORT with BY and GET is not allowed or not known.
  fileprivate var refusesSort: Bool { ["NOPERM", "ERR", "CROSSSLOT"].contains(code) }
}

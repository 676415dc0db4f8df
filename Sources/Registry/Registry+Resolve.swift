import EventLoop
import PushModel
import Redis
import Telemetry

extension Registry {
  /// Finds the devices of all queries in one pipelined exchange. The resolutions are in the order of the queries.
  public func resolve(_ queries: [DeviceQuery], completion: @escaping @EventLoop ([Resolution]) -> Void) {
    let exchange = ResolveExchange(count: queries.count, completion: completion)
    // Several jobs to one user share one command.
    var users: [String: Int] = [:]
    for (index, query) in queries.enumerated() {
      switch query {
      case .user(let user):
        if queries.count > 1, let first = users.updateValue(index, forKey: user) {
          users[user] = first
          exchange.repeated.append((index, first))
        } else {
          sendUser(user, index, exchange)
        }
      case .userToken(let user, let token): sendUserToken(user, token, index, exchange)
      case .token(let token): exchange.named.append((index, token))
      case .tokens(let tokens): for token in tokens { exchange.named.append((index, token)) }
      case .instance(let id): sendInstance(id, index, exchange)
      case .activity(let id): sendActivity(id, index, exchange)
      }
    }
    sendNamed(exchange)
    exchange.close()
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

  /// Reads a user's devices with one command, or with two where Redis does not allow that.
  private func sendUser(_ user: String, _ index: Int, _ exchange: ResolveExchange) {
    if largeUsers.contains(user) {
      exchange.setLarge(user, index)
    } else if sorts {
      sendSort(user, index, exchange)
    } else {
      sendMembers(user, index, exchange)
    }
  }

  /// Reads entries and their metadata with one SORT. SORT reads the whole set for any LIMIT, so a large set is
  /// read in this way only once.
  private func sendSort(_ user: String, _ index: Int, _ exchange: ResolveExchange) {
    var command = RedisCommand("SORT")
    command.append(RegistryKeys.userTokens(user))
    for word in Registry.withMetadata { command.append(word) }
    command.append("LIMIT" as StaticString)
    command.append("0" as StaticString)
    command.append(Registry.maximumResolved + 1)
    exchange.expect()
    connection.send(command) { [self] result in
      if case .failure(.reply(let error)) = result, error.refusesSort {
        stopSorting(error)
        sendMembers(user, index, exchange)
        return exchange.skip()
      }
      exchange.answer(index, result) { resolution, value in
        let values = value.array ?? []
        guard values.count <= 2 * Registry.maximumResolved else {
          largeUsers.insert(user)
          resolution.largeUser = user
          return
        }
        for pair in stride(from: 0, to: values.count - 1, by: 2) {
          guard let entry = values[pair].bytes else { continue }
          resolution.apply(Ownership.decide(entry: entry, metadata: values[pair + 1].bytes, owner: user))
        }
      }
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
  private func sendMembers(_ user: String, _ index: Int, _ exchange: ResolveExchange) {
    exchange.expect()
    let command = RedisCommand("SRANDMEMBER", RegistryKeys.userTokens(user)).with(Registry.maximumResolved + 1)
    connection.send(command) { [self] result in
      let entries = (try? result.get())?.array?.compactMap(\.bytes) ?? []
      if entries.count > Registry.maximumResolved {
        largeUsers.insert(user)
        exchange.setLarge(user, index)
      } else if !entries.isEmpty {
        sendMetadata(of: entries, user, index, exchange)
      }
      exchange.answer(index, result) { _, _ in }
    }
  }

  private func sendMetadata(of entries: [[UInt8]], _ user: String, _ index: Int, _ exchange: ResolveExchange) {
    var command = RedisCommand("MGET")
    for entry in entries { command.append(RegistryKeys.token(entry)) }
    exchange.expect()
    connection.send(command) { result in
      exchange.answer(index, result) { resolution, value in
        for (entry, metadata) in zip(entries, value.array ?? []) {
          resolution.apply(Ownership.decide(entry: entry, metadata: metadata.bytes, owner: user))
        }
      }
    }
  }

  private func sendUserToken(_ user: String, _ token: String, _ index: Int, _ exchange: ResolveExchange) {
    // On a cluster the replies arrive in any order.
    var isMember: Bool?
    var metadata: RedisValue?
    func apply(_ resolution: inout Resolution) {
      guard isMember == true, let metadata else { return }
      resolution.apply(Ownership.decide(entry: Array(token.utf8), metadata: metadata.bytes, owner: user))
    }
    exchange.expect()
    connection.send(RedisCommand("SISMEMBER", RegistryKeys.userTokens(user), token)) { result in
      exchange.answer(index, result) { resolution, value in
        isMember = value.integer == 1
        apply(&resolution)
      }
    }
    exchange.expect()
    connection.send(RedisCommand("GET", RegistryKeys.token(token))) { result in
      exchange.answer(index, result) { resolution, value in
        metadata = value
        apply(&resolution)
      }
    }
  }

  private func sendInstance(_ id: String, _ index: Int, _ exchange: ResolveExchange) {
    exchange.expect()
    connection.send(RedisCommand("GET", RegistryKeys.instance(id))) { result in
      exchange.answer(index, result) { resolution, value in
        guard let record = value.bytes.flatMap(InstanceRecord.init(parsing:)), record.isReachable else { return }
        resolution.devices.append(
          Device(
            token: record.token, bundleID: record.bundleID, environment: record.environment,
            updatedAt: record.updatedAt, kind: .app))
      }
    }
  }

  private func sendActivity(_ id: String, _ index: Int, _ exchange: ResolveExchange) {
    exchange.expect()
    let command = RedisCommand("HKEYS", RegistryKeys.activityTokens(id))
    connection.send(command) { [self] result in
      let tokens = (try? result.get())?.array?.compactMap(\.bytes) ?? []
      for batch in tokens.batches(of: Registry.maximumBatch) {
        var command = RedisCommand("MGET")
        for token in batch { command.append(RegistryKeys.token(token)) }
        exchange.expect()
        connection.send(command) { exchange.answer(index, activity: id, Array(batch), $0) }
      }
      exchange.answer(index, result) { _, _ in }
    }
  }

  /// Reads the metadata of the tokens that producers named, for all queries together.
  private func sendNamed(_ exchange: ResolveExchange) {
    for start in stride(from: 0, to: exchange.named.count, by: Registry.maximumBatch) {
      let named = exchange.named[start..<min(start + Registry.maximumBatch, exchange.named.count)]
      var command = RedisCommand("MGET")
      for (_, token) in named { command.append(RegistryKeys.token(token)) }
      exchange.expect()
      connection.send(command) { result in exchange.answer(named, result) }
    }
  }
}

extension RedisReplyError {
  /// Whether SORT with BY and GET is not allowed or not known.
  fileprivate var refusesSort: Bool { ["NOPERM", "ERR", "CROSSSLOT"].contains(code) }
}

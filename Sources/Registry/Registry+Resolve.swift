import EventLoop
import PushModel
import Redis
import Telemetry

extension Registry {
  /// Finds the devices of all queries in one pipelined exchange. The resolutions are in the order of the queries.
  public func resolve(_ queries: [DeviceQuery], completion: @escaping @EventLoop ([Resolution]) -> Void) {
    let exchange = ResolveExchange(count: queries.count) { [self] in unite($0, of: queries, completion) }
    // Several jobs to one user share one command.
    var users: [String: Int] = [:]
    if queries.count > 1 { users.reserveCapacity(queries.count) }
    // The tokens that producers named, of all queries together.
    var named: [ResolveExchange.Lookup] = []
    for (index, query) in queries.enumerated() {
      switch query {
      case .user(let user):
        if queries.count > 1, let first = users.updateValue(index, forKey: user) {
          users[user] = first
          exchange.repeated.append((index, first))
        } else {
          sendUser(user, index, exchange)
        }
      case .userToken(let user, let token):
        sendUserToken(user, token.text, else: token.upperCased, index, exchange)
      case .token(let token): named.append((index, .named(token)))
      case .tokens(let tokens): for token in tokens { named.append((index, .named(token))) }
      case .instance(let id): sendInstance(id, index, exchange)
      case .activity(let id): sendActivity(id, index, exchange)
      }
    }
    send(named, exchange)
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

  /// Reads the entries of a user's set. SRANDMEMBER returns the whole set if that is not larger than the count.
  private func sendUser(_ user: String, _ index: Int, _ exchange: ResolveExchange) {
    guard !largeUsers.contains(user) else { return exchange.setLarge(user, index) }
    exchange.expect()
    exchange.unread += 1
    let command = RedisCommand("SRANDMEMBER").with(RegistryKeys.userTokens(user)).with(Registry.maximumResolved + 1)
    connection.send(command) { [self] result in
      let entries = (try? result.get())?.array?.compactMap(\.bytes) ?? []
      if entries.count > Registry.maximumResolved {
        largeUsers.insert(user)
        exchange.setLarge(user, index)
      } else {
        for entry in entries { exchange.owned.append((index, .owned(entry, user: user))) }
      }
      exchange.unread -= 1
      if exchange.unread == 0 { send(exchange.owned, exchange) }
      exchange.answer(index, result) { _, _ in }
    }
  }

  /// Reads the metadata of tokens, then that of other forms of those that are not registered.
  private func send(_ lookups: [ResolveExchange.Lookup], _ exchange: ResolveExchange) {
    for batch in lookups.batches(of: Registry.maximumBatch) {
      var command = RedisCommand("MGET")
      for lookup in batch { lookup.token.appendKey(to: &command) }
      exchange.expect()
      connection.send(command) { [self] result in
        send(exchange.otherForms(batch, result), exchange)
        exchange.answer(batch, result)
      }
    }
  }

  /// `other` is another form of the token, which counts if the user has no device under this one.
  private func sendUserToken(
    _ user: String, _ token: String, else other: String?, _ index: Int, _ exchange: ResolveExchange
  ) {
    // On a cluster the replies arrive in any order.
    var isMember: Bool?
    var metadata: RedisValue?
    func apply(_ resolution: inout Resolution) {
      guard let isMember, let metadata else { return }
      if let other, !isMember || metadata.bytes == nil {
        sendUserToken(user, other, else: nil, index, exchange)
      } else if isMember {
        resolution.apply(Ownership.decide(entry: Array(token.utf8), metadata: metadata.bytes, owner: user))
      }
    }
    exchange.expect()
    connection.send(RedisCommand("SISMEMBER", RegistryKeys.userTokens(user), token)) { result in
      exchange.answer(index, result) { resolution, value in
        isMember = value.integer == 1
        apply(&resolution)
      }
    }
    exchange.expect()
    connection.send(RedisCommand("GET", RegistryKeys.token(entry: token))) { result in
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
      send(tokens.map { (index, .ofActivity($0, id: id)) }, exchange)
      exchange.answer(index, result) { _, _ in }
    }
  }
}

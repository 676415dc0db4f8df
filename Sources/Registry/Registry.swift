public import EventLoop
public import Redis
public import Telemetry

/// Who owns which device now.
@EventLoop
public final class Registry {
  let connection: RedisConnection
  private let log: Log

  /// `connection` stays the caller's; it must not be used for blocking commands.
  public init(connection: RedisConnection, log: Log) {
    self.connection = connection
    self.log = log
    connection.preload(RegistryScripts.all)
  }

  /// Answers all `queries` in one pipelined exchange, in their order. Entries of a user's set that belong to somebody else, are
  /// malformed or have no metadata are removed from it.
  public func resolve(_ queries: [DeviceQuery], _ completion: @escaping @EventLoop ([Resolution]) -> Void) {
    var resolutions = [Resolution](repeating: Resolution(), count: queries.count)
    var left = queries.count
    guard left > 0 else { return EventLoop.atEndOfTurn { completion([]) } }
    for (index, query) in queries.enumerated() {
      resolve(query) { resolution in
        resolutions[index] = resolution
        left -= 1
        if left == 0 { completion(resolutions) }
      }
    }
  }

  private func resolve(_ query: DeviceQuery, _ completion: @escaping @EventLoop (Resolution) -> Void) {
    switch query {
    case .user(let username): resolveUser(username, completion)
    case .userToken(let username, let token): resolve(token, of: username, completion)
    case .tokens(let tokens): resolveTokens(tokens, completion)
    case .instance(let id): resolveInstance(id, completion)
    }
  }

  /// One command returns the members of the set, each followed by its metadata.
  private func resolveUser(_ username: String, _ completion: @escaping @EventLoop (Resolution) -> Void) {
    let command = RedisCommand(
      "SORT", RegistryKeys.userTokens(username), "BY", "nosort", "GET", "#", "GET", RegistryKeys.token("*"))
    connection.send(command) { [self] result in
      switch result {
      case .success(let value):
        let values = value.array ?? []
        let pairs = stride(from: 0, to: values.count - 1, by: 2).map {
          (entry: values[$0].bytes ?? [], metadata: values[$0 + 1].bytes)
        }
        let resolution = Ownership.sort(pairs, username: username)
        if !resolution.misplaced.isEmpty { remove(resolution.misplaced, from: username) }
        completion(resolution)
      case .failure(.reply(let error)) where error.code == "WRONGTYPE" || error.message.contains("wrong kind"):
        log.warn("a user's token key holds another type; the user has no devices", ["username": .init(username)])
        completion(Resolution())
      case .failure(let error): completion(Resolution(error: error))
      }
    }
  }

  private func resolve(_ token: String, of username: String, _ completion: @escaping @EventLoop (Resolution) -> Void) {
    var isMember = false
    connection.send(RedisCommand("SISMEMBER", RegistryKeys.userTokens(username), token)) { result in
      isMember = (try? result.get())?.integer == 1
    }
    connection.send(RedisCommand("GET", RegistryKeys.token(token))) { [self] result in
      switch result {
      case .success(let value):
        guard isMember else { return completion(Resolution()) }
        let resolution = Ownership.sort([(Array(token.utf8), value.bytes)], username: username)
        if !resolution.misplaced.isEmpty { remove(resolution.misplaced, from: username) }
        completion(resolution)
      case .failure(.reply(let error)) where error.code == "WRONGTYPE": completion(Resolution())
      case .failure(let error): completion(Resolution(error: error))
      }
    }
  }

  private func resolveTokens(_ tokens: [String], _ completion: @escaping @EventLoop (Resolution) -> Void) {
    guard !tokens.isEmpty else { return EventLoop.atEndOfTurn { completion(Resolution()) } }
    var command = RedisCommand("MGET")
    for token in tokens { command.append(RegistryKeys.token(token)) }
    connection.send(command) { result in
      switch result {
      case .success(let value):
        let devices = zip(tokens, value.array ?? []).map { token, metadata in
          Device(token: token, metadata: metadata.bytes.flatMap(DeviceMetadata.init(json:)))
        }
        completion(Resolution(devices: devices))
      case .failure(let error): completion(Resolution(error: error))
      }
    }
  }

  private func resolveInstance(_ id: String, _ completion: @escaping @EventLoop (Resolution) -> Void) {
    connection.send(RedisCommand("GET", RegistryKeys.instance(id))) { result in
      switch result {
      case .success(let value):
        let registration = value.bytes.flatMap(InstanceRegistration.init(json:))
        guard let registration, registration.isActive else { return completion(Resolution()) }
        completion(Resolution(devices: [registration.device(instance: id)]))
      case .failure(.reply(let error)) where error.code == "WRONGTYPE": completion(Resolution())
      case .failure(let error): completion(Resolution(error: error))
      }
    }
  }

  private func remove(_ misplaced: [Misplaced], from username: String) {
    log.info(
      "removed entries from a user's devices that are not the user's",
      ["username": .init(username), "entries": .init(misplaced.count), "reason": .init(misplaced[0].reason.rawValue)])
    for item in misplaced {
      let metadata = RegistryKeys.token(String(decoding: item.entry, as: UTF8.self))
      connection.call(RegistryScripts.removeMisplaced, keys: [RegistryKeys.userTokens(username), metadata]) { command in
        command.append(item.entry)
        command.append(username)
      } _: { _ in }
    }
  }
}

public import Redis

extension Registry {
  private static let secondsPerYear = 31_536_000
  /// Somebody else registers the same token again and again: give up.
  private static let maximumGuesses = 10

  /// What a registration changed.
  public struct Registration: Sendable, Equatable {
    /// Whom the token was taken from.
    public let formerOwner: String?
  }

  /// Registers `token` for the user of `metadata`: one atomic step, transfer from another owner included.
  public func register(_ token: String, _ metadata: DeviceMetadata) async throws(RedisError) -> Registration {
    var owner = ""
    var bundle = ""
    for _ in 0..<Registry.maximumGuesses {
      let keys = [
        RegistryKeys.token(token), RegistryKeys.userTokens(metadata.username),
        RegistryKeys.audience(metadata.bundleID ?? "", of: token),
        RegistryKeys.userTokens(owner.isEmpty ? metadata.username : owner),
        RegistryKeys.audience(bundle, of: token),
      ]
      let guess = (owner, bundle)
      let answer = try await connection.call(RegistryScripts.register, keys: keys) { command in
        command.append(token)
        command.append(metadata.json())
        command.append(Registry.secondsPerYear)
        command.append(metadata.bundleID == nil ? "0" : "1")
        command.append(guess.0)
        command.append(guess.1)
      }
      guard let values = answer.array, values.count == 3 else { break }
      owner = values[1].string ?? ""
      bundle = values[2].string ?? ""
      if values[0].integer == 1 {
        return Registration(formerOwner: owner.isEmpty || owner == metadata.username ? nil : owner)
      }
    }
    throw .notSent("the token is being registered by others at the same time")
  }

  /// Takes `token` from `username`. Answers how many set entries and metadata were removed.
  public func unregister(
    _ token: String, of username: String, bundleID: String?
  ) async throws(RedisError) -> (entries: Int, metadata: Int) {
    let keys = [
      RegistryKeys.token(token), RegistryKeys.userTokens(username), RegistryKeys.audience(bundleID ?? "", of: token),
    ]
    let answer = try await connection.call(RegistryScripts.unregister, keys: keys) { command in
      command.append(token)
      command.append(username)
    }
    let counts = (answer.array ?? []).map { Int($0.integer ?? 0) }
    return counts.count == 2 ? (counts[0], counts[1]) : (0, 0)
  }
}

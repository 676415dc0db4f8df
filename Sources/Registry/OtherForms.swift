import Telemetry
import EventLoop
public import PushModel
public import Redis

// Tokens and names that other programs have stored in another form than their one: they are brought to it when they are met.
extension Registry {
  /// Unites a user with what other programs have stored under the other form of the name. A name of ASCII characters has hardly ever
  /// one.
  public func meet(_ user: Username) async throws(RedisError) {
    guard let form = user.decomposed,
      try await connection.send(RedisCommand("SCARD", RegistryKeys.userTokens(form: form.text))).integer != 0
    else { return }
    try await unite(form, with: user)
  }

  private func unite(_ form: ExactText, with user: Username) async throws(RedisError) {
    let count = try await executor.unite(form: form)
    log.info(
      "the devices of a user whose name was stored in another form of Unicode have become the user's",
      ["username": .init(user.text), "entries": .init(count)])
  }

  /// Unites entries of a set that are other forms of tokens with the tokens. Returns the entries with the tokens in their place.
  public func unite(_ entries: [[UInt8]]) async throws(RedisError) -> [[UInt8]] { try await executor.unite(entries) }

  /// Passes the resolutions on; before, those that have met other forms of tokens or of a name find their devices again, united.
  func unite(
    _ resolutions: [Resolution], of queries: [DeviceQuery], _ completion: @escaping @EventLoop ([Resolution]) -> Void
  ) {
    let open = resolutions.indices.filter { resolutions[$0].storedName != nil || !resolutions[$0].otherForms.isEmpty }
    guard !open.isEmpty else { return completion(resolutions) }
    EventLoop.start { [self] in
      var resolutions = resolutions
      for index in open {
        do throws(RedisError) {
          if let form = resolutions[index].storedName { try await unite(form, with: Username(form.text)) }
          _ = try await executor.unite(resolutions[index].otherForms)
          resolutions[index] = await resolve(queries[index])
        } catch {
          resolutions[index] = Resolution(error: error)
        }
      }
      completion(resolutions)
    }
  }
}

// The walk through all devices, which meets them all.
extension Registry {
  /// Returns whether this process is to look through all devices. It is if no other has begun to do so for `seconds`.
  public func claimWalk(forApp app: String?, seconds: Int) async throws(RedisError) -> Bool {
    let claim = RedisCommand("SET", RegistryKeys.walk, app ?? "", "NX", "EX").with(seconds)
    return try await connection.send(claim).string == "OK"
  }

  /// Lets another process begin at once: this one has claimed the walk and did not complete it.
  public func releaseWalk() async throws(RedisError) {
    _ = try await connection.send(RedisCommand("DEL", RegistryKeys.walk))
  }

  /// Unites devices with other forms of their tokens and of their owners' names, and gives those without an app this one, if there is
  /// one, in a part of the devices of a server. Returns how many got the app, and where the next part begins; nil after the last.
  public func tidy(
    app: String?, server: Int, from cursor: String
  ) async throws(RedisError) -> (changed: Int, next: String?) {
    let prefix = RegistryKeys.tokens
    let page = try await connection.page(ofStrings: prefix, server: server, from: cursor)
    _ = try await executor.unite(page.entries.map { Array($0.key.dropFirst(prefix.utf8.count)) })
    let devices = page.entries.compactMap { key, value in
      value.flatMap(DeviceMetadata.init(parsing:)).map {
        (token: String(decoding: key.dropFirst(prefix.utf8.count), as: UTF8.self), metadata: $0)
      }
    }
    try await rename(devices.compactMap { device in device.metadata.storedName.map { (device.token, $0) } })
    let next = page.next == "0" ? nil : page.next
    guard let app else { return (0, next) }
    let tokens = devices.filter { ($0.metadata.bundleID ?? "").isEmpty }.map(\.token)
    let changed = tokens.isEmpty ? 0 : try await assume(app: app, for: tokens)
    return (changed, next)
  }

  /// Gives devices the one form of their owner's name, which is stored in this one.
  private func rename(_ devices: [(token: String, form: ExactText)]) async throws(RedisError) {
    guard !devices.isEmpty else { return }
    _ = try await executor.complete(devices.map { ($0.token, .unite(form: $0.form)) })
    log.info(
      "devices whose owner's name was stored in another form have got its one form", ["devices": .init(devices.count)])
  }

  /// The servers that hold the devices: one, or the primaries of a cluster.
  public var serverCount: Int { connection.serverCount }
}

extension Resolution {
  fileprivate var otherForms: [[UInt8]] { removals.filter { $0.reason == .otherForm }.map(\.entry) }
}

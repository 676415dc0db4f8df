import EventLoop
public import Redis

// Devices that other programs have written.
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

  /// Unites devices with other forms of their tokens, and gives those without an app this one, if there is one, in a part of
  /// the devices of a server. Returns how many got the app, and where the next part begins; nil after the last.
  public func tidy(
    app: String?, server: Int, from cursor: String
  ) async throws(RedisError) -> (changed: Int, next: String?) {
    let prefix = RegistryKeys.tokens
    let page = try await connection.page(ofStrings: prefix, server: server, from: cursor)
    _ = try await executor.unite(page.entries.map { Array($0.key.dropFirst(prefix.utf8.count)) })
    let next = page.next == "0" ? nil : page.next
    guard let app else { return (0, next) }
    let bare = page.entries.filter { _, value in
      value.flatMap(DeviceMetadata.init(parsing:)).map { ($0.bundleID ?? "").isEmpty } ?? false
    }
    let tokens = bare.map { String(decoding: $0.key.dropFirst(prefix.utf8.count), as: UTF8.self) }
    let changed = tokens.isEmpty ? 0 : try await assume(app: app, for: tokens)
    return (changed, next)
  }

  /// The servers that hold the devices: one, or the primaries of a cluster.
  public var serverCount: Int { connection.serverCount }
}

public import EventLoop
public import PushModel
public import Redis

/// The channels in Redis. What several operators change at the same time is never overwritten.
@EventLoop
public final class Channels {
  private let connection: RedisClient

  public init(connection: RedisClient) {
    self.connection = connection
    connection.preload([RegistryScripts.replaceChannelScript])
  }

  /// Returns a channel; nil if there is none.
  public func channel(_ name: String, of bundleID: String) async throws(RedisError) -> Channel? {
    try await stored(name, bundleID).flatMap { Channel(name, of: bundleID, json: $0) }
  }

  /// Reads a channel; passes nil if there is none.
  public func read(
    _ name: String, of bundleID: String, completion: @escaping @EventLoop (Result<Channel?, RedisError>) -> Void
  ) {
    connection.send(RedisCommand("GET", RegistryKeys.channel(name, bundleID: bundleID))) { result in
      completion(result.map { reply in reply.bytes.flatMap { Channel(name, of: bundleID, json: $0) } })
    }
  }

  /// Returns the channels of an app, or of all apps, by app and name. Reads all keys of Redis: for operators.
  public func list(of bundleID: String? = nil) async throws(RedisError) -> [Channel] {
    let prefix = bundleID.map(RegistryKeys.channels) ?? RegistryKeys.channels
    var found: [String: Channel] = [:]
    for server in 0..<connection.serverCount {
      var cursor = "0"
      repeat {
        let page = try await connection.page(ofStrings: prefix, server: server, from: cursor)
        for (key, value) in page.entries {
          guard let value,
            let channel = Channel(path: Array(key.dropFirst(RegistryKeys.channels.utf8.count)), json: value)
          else { continue }
          found[channel.path] = channel
        }
        cursor = page.next
      } while cursor != "0"
    }
    return found.values.sorted { ($0.bundleID, $0.name) < ($1.bundleID, $1.name) }
  }

  /// What became of an id that was to be added.
  public enum Addition: Sendable, Equatable {
    case added
    /// The channel has this other id in this environment.
    case taken(String)
    /// The channel has this other storage policy in another environment.
    case otherStorage(ChannelStorage)
  }

  /// Adds the id of an environment to a channel, which it creates if there is none.
  public func add(
    _ id: String, in environment: PushEnvironment, storage: ChannelStorage, to name: String, of bundleID: String
  ) async throws(RedisError) -> Addition {
    while true {
      let current = try await stored(name, bundleID)
      var channel = Channel(name, of: bundleID, storage: storage)
      // A record that cannot be read names nothing, and is replaced.
      if let known = current.flatMap({ Channel(name, of: bundleID, json: $0) }), !known.ids.isEmpty { channel = known }
      if let other = channel.ids[environment], other != id { return .taken(other) }
      guard channel.storage == storage else { return .otherStorage(channel.storage) }
      channel.ids[environment] = id
      if try await replace(name, bundleID, current, with: channel) { return .added }
    }
  }

  /// Removes the id of an environment from a channel, and the channel with its last one. Another id there stays.
  public func remove(
    _ id: String, in environment: PushEnvironment, from name: String, of bundleID: String
  ) async throws(RedisError) {
    while let current = try await stored(name, bundleID), var channel = Channel(name, of: bundleID, json: current),
      channel.ids[environment] == id
    {
      channel.ids[environment] = nil
      if try await replace(name, bundleID, current, with: channel) { return }
    }
  }

  private func stored(_ name: String, _ bundleID: String) async throws(RedisError) -> [UInt8]? {
    try await connection.send(RedisCommand("GET", RegistryKeys.channel(name, bundleID: bundleID))).bytes
  }

  /// Returns false if the record is not the current one.
  private func replace(
    _ name: String, _ bundleID: String, _ current: [UInt8]?, with channel: Channel
  ) async throws(RedisError) -> Bool {
    let reply = try await connection.send(
      RegistryScripts.replaceChannel(
        channel: RegistryKeys.channel(name, bundleID: bundleID), current: current ?? [],
        new: channel.ids.isEmpty ? [] : channel.json))
    return reply.integer == 1
  }
}

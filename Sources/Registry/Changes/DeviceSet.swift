import PushModel
import Redis

/// A set that contains the tokens of a user or of an app. The name is not empty.
enum DeviceSet: Hashable, Sendable {
  case user(String)
  case audience(String)

  /// The key of the set that may contain `token`.
  func key(of token: String) -> String { key { AudienceShard.shard(of: token) } }

  /// The key of the set that may contain `entry`, which may be any bytes.
  func key(of entry: [UInt8]) -> String { key { AudienceShard.shard(of: entry) } }

  private func key(_ shard: () -> Int) -> String {
    switch self {
    case .user(let name): RegistryKeys.userTokens(name)
    case .audience(let app): RegistryKeys.audience(app, shard: shard())
    }
  }

  /// Begins a command that removes entries.
  func removal(from key: String) -> RedisCommand {
    switch self {
    case .user: RedisCommand("SREM", key)
    case .audience: RedisCommand("ZREM", key)
    }
  }

  var isAudience: Bool {
    if case .audience = self { true } else { false }
  }

  /// The type of the key, as TYPE names it.
  var type: String {
    switch self {
    case .user: "set"
    case .audience: "zset"
    }
  }
}

extension DeviceMetadata {
  /// The sets that must contain a device with this metadata: its owner's, and its app's if broadcasts are sent to its kind.
  var places: [DeviceSet] {
    var places: [DeviceSet] = []
    if !username.isEmpty { places.append(.user(username)) }
    if let bundleID, !bundleID.isEmpty, kind == .app { places.append(.audience(bundleID)) }
    return places
  }
}

import PushModel
import Redis

/// A set that contains the tokens of a user, of an app or of a Live Activity. The name is not empty.
enum DeviceSet: Hashable, Sendable {
  case user(Username)
  /// The set of a user under another form of the name, as other programs may have stored it.
  case userForm(ExactText)
  case audience(String)
  /// A hash: the value of a token is its metadata, for those who look at the activity alone.
  case activity(String)

  /// The key of the set that may contain `token`.
  func key(of token: String) -> String { key { AudienceShard.shard(of: token) } }

  /// The key of the set that may contain `entry`, which may be any bytes.
  func key(of entry: [UInt8]) -> String { key { AudienceShard.shard(of: entry) } }

  private func key(_ shard: () -> Int) -> String {
    switch self {
    case .user(let name): RegistryKeys.userTokens(name)
    case .userForm(let form): RegistryKeys.userTokens(form: form.text)
    case .audience(let app): RegistryKeys.audience(app, shard: shard())
    case .activity(let id): RegistryKeys.activityTokens(id)
    }
  }

  /// Begins a command that removes entries.
  func removal(from key: String) -> RedisCommand {
    switch self {
    case .user, .userForm: RedisCommand("SREM", key)
    case .audience: RedisCommand("ZREM", key)
    case .activity: RedisCommand("HDEL", key)
    }
  }

  /// How ``RegistryScripts/apply`` is told to add a token, and to remove it.
  var letters: (join: String, leave: String) {
    switch self {
    case .user, .userForm: ("u", "U")
    case .audience: ("a", "A")
    case .activity: ("h", "H")
    }
  }

  /// The type of the key, as TYPE names it.
  var type: String {
    switch self {
    case .user, .userForm: "set"
    case .audience: "zset"
    case .activity: "hash"
    }
  }
}

extension DeviceMetadata {
  /// The sets that must contain a device with this metadata: its owner's, its app's if broadcasts are sent to its kind, and its Live
  /// Activity's.
  var sets: [DeviceSet] {
    var sets: [DeviceSet] = []
    if !username.isEmpty { sets.append(.user(username)) }
    if let bundleID, !bundleID.isEmpty, kind == .app { sets.append(.audience(bundleID)) }
    if let activity, !activity.isEmpty, kind == .activity { sets.append(.activity(activity)) }
    return sets
  }
}

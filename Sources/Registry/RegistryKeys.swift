/// Every Redis key of the registry.
public enum RegistryKeys {
  /// Sorted sets that an app's audience is spread over. Changing it orphans the entries of other shards.
  public static let shardCount = 16

  /// Set of a user's device tokens.
  public static func userTokens(_ username: String) -> String { "push:user:\(username):tokens" }

  /// Metadata of a token, JSON (``DeviceMetadata``).
  public static func token(_ token: String) -> String { "push:token:\(token)" }

  /// One shard of an app's audience: a sorted set, all scores 0.
  public static func audience(_ app: String, shard: Int) -> String { "push:app:\(app):tokens:\(shard)" }

  /// The shard of `token` in the audience of `app`.
  public static func audience(_ app: String, of token: String) -> String {
    audience(app, shard: shard(of: token))
  }

  /// The one active token of an instance, JSON.
  public static func instance(_ id: String) -> String { "push:instance:\(id)" }

  /// FNV-1a over the token's bytes: the same on every machine, for ever.
  public static func shard(of token: String) -> Int {
    var hash: UInt32 = 2_166_136_261
    for byte in token.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    return Int(hash % UInt32(shardCount))
  }
}

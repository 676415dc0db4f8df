/// Every key of the registry. A username or an id is written as its owner normalised it.
public enum RegistryKeys {
  /// Set of a user's device tokens.
  public static func userTokens(_ username: String) -> String { "push:user:" + username + ":tokens" }

  /// Metadata of a device: ``DeviceMetadata``.
  public static func token(_ token: String) -> String { "push:token:\(token)" }

  /// The metadata's key of a set's entry, which may be any bytes.
  static func token(_ entry: [UInt8]) -> [UInt8] { tokenPrefix + entry }

  private static let tokenPrefix = Array("push:token:".utf8)

  /// What SORT puts an element's metadata in the place of.
  static let tokenPattern: StaticString = "push:token:*"

  /// The one active device of an instance: ``InstanceRecord``.
  public static func instance(_ id: String) -> String { "push:instance:\(id)" }

  /// Sorted set of an app's tokens, all of score 0: one of ``AudienceShard/count``.
  public static func audience(_ bundleID: String, shard: Int) -> String { "push:app:\(bundleID):tokens:\(shard)" }

}

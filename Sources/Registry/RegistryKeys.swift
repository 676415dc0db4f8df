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

  /// Hash: what an API key has asked for lately, a token bucket and the count of a day.
  static func allowance(_ key: String) -> String { "martlet:{allowance}:\(key)" }

  /// String with a TTL: how often something has happened in a window.
  static func windowCount(_ action: LimitedAction, _ subject: String) -> String {
    "martlet:{limit}:\(action.rawValue):\(subject)"
  }

  /// String: whether backup.json was brought in, ``ImportClaim``.
  static let backupState = "martlet:{backup}:state"

  /// String with a TTL: who brings it in now.
  static let backupLease = "martlet:{backup}:lease"

  /// Hash of ``Credential``s by their names.
  public static func credentials(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue)" }

  /// Hash of the same names by the digests of their secrets.
  static func credentialDigests(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue):digests" }
}

public import PushModel
import Redis

/// Every key of the registry. Usernames and ids must be normalised.
public enum RegistryKeys {
  /// Set of a user's device tokens.
  public static func userTokens(_ username: String) -> String {
    String(key: "push:user:", username, ":tokens")
  }

  /// Metadata of a device: ``DeviceMetadata``.
  public static func token(_ token: DeviceToken) -> String { "\(tokens)\(token.text)" }

  /// The key of the metadata of a set's entry: a token, perhaps in another form than its own.
  package static func token(entry: String) -> String { "\(tokens)\(entry)" }

  /// The key of the metadata of a set's entry, which may be any bytes.
  package static func token(_ entry: [UInt8]) -> [UInt8] { tokenPrefix + entry }

  /// The beginning of the keys of all devices.
  package static let tokens = "push:token:"
  private static let tokenPrefix = Array(tokens.utf8)

  /// The one active device of an instance: ``InstanceRecord``.
  public static func instance(_ id: String) -> String { "push:instance:\(id)" }

  /// String: the ids of a channel, a ``Channel``.
  public static func channel(_ name: String, bundleID: String) -> String { channels(of: bundleID) + name }

  /// The beginning of the keys of an app's channels.
  static func channels(of bundleID: String) -> String { "\(channels)\(bundleID):" }

  /// The beginning of the keys of all channels.
  package static let channels = "push:channel:"

  /// String with a TTL: the id of the instance that registered the token last.
  public static func instanceOfToken(_ token: DeviceToken) -> String { holder(of: token.text) }

  static func holder(of entry: String) -> String { "martlet:instance:\(entry)" }

  /// Sorted set of an app's tokens, all with score 0; one of ``AudienceShard/count``.
  public static func audience(_ bundleID: String, shard: Int) -> String { "push:app:\(bundleID):tokens:\(shard)" }

  /// Hash with a TTL: the update tokens of a Live Activity, each with its metadata.
  public static func activityTokens(_ id: String) -> String { "push:activity:\(id):tokens" }

  /// String with a TTL: the last refusal of a device, a ``RefusalNote``.
  public static func refusal(_ token: DeviceToken) -> String { "\(refusals)\(token.text)" }

  /// The beginning of the keys of all of them.
  package static let refusals = "martlet:refusal:"

  /// String with a TTL: why the last device of a user was removed, a ``RefusalNote``.
  public static func removal(_ username: String) -> String { "martlet:removal:\(username)" }

  /// Hash with a TTL: since when devices are gone that a client of a push gateway has named.
  package static func gone(_ client: String) -> String { "martlet:gone:\(client)" }

  /// String with a TTL: the default app, while no process looks through all devices.
  package static let walk = "martlet:{registry}:walk"

  /// Sorted set of the changes under way in a cluster, by the time they began (unix seconds): `<token> <number>`; one
  /// of ``AudienceShard/count``.
  static func journal(shard: Int) -> String { "martlet:{registry:\(shard)}:journal" }
}

public import PushModel
import Redis

/// Every key of the registry. Ids must be normalised.
public enum RegistryKeys {
  /// | `push:user:<username>:tokens` | set | device tokens of a user |
  public static func userTokens(_ username: Username) -> String { userTokens(form: username.text) }

  /// The key of the set of a user whose name is stored as `form`.
  static func userTokens(form: String) -> String {
    String(key: "push:user:", form, ":tokens")
  }

  /// ``DeviceMetadata``:
  /// | `push:token:<token>` | string, 1 year from the last registration, 1 day for the kind `pushtotalk`, 12 h for
  /// `activity` | JSON: `username` (empty for an anonymous device), `platform`, `updatedAt` (unix ms), when known
  /// `bundleId`, `environment`, `createdAt`, `deviceId` (the phone), `replaced` (marks of tokens of the phone that this one has
  /// replaced) and `unreachable` (a digest of the keys and endpoints with which no environment that could be asked knew the
  /// token: nothing is sent to it from there), and `kind` if it is not `app`; of a token of a
  /// [Live Activity](live-activities.md) also `activity` (its id, or the attributes type) and, if the app says it,
  /// `frequentPushes` |
  public static func token(_ token: DeviceToken) -> String { "\(tokens)\(token.text)" }

  /// The key of the metadata of a set's entry: a token, perhaps in another form than its own.
  package static func token(entry: String) -> String { "\(tokens)\(entry)" }

  /// The key of the metadata of a set's entry, which may be any bytes.
  package static func token(_ entry: [UInt8]) -> [UInt8] { tokenPrefix + entry }

  /// The beginning of the keys of all devices.
  package static let tokens = "push:token:"
  private static let tokenPrefix = Array(tokens.utf8)

  /// ``InstanceRecord``:
  /// | `push:instance:<id>` | string | JSON: the one device of an instance: `token`, `updatedAt`, `active` (false: APNs
  /// reported it as stale, or it was unregistered), `suspended` (true: the credential is disabled or revoked), and when
  /// known `environment`, `bundleId` |
  public static func instance(_ id: String) -> String { "push:instance:\(id)" }

  /// ``Channel``:
  /// | `push:channel:<bundleId>:<name>` | string | JSON: a broadcast [channel](apps.md#channels): `storage` (`none` or
  /// `newest`), and APNs' id in each environment in which it exists, `production` and `sandbox` |
  public static func channel(_ name: String, bundleID: String) -> String { channels(of: bundleID) + name }

  /// The beginning of the keys of an app's channels.
  static func channels(of bundleID: String) -> String { "\(channels)\(bundleID):" }

  /// The beginning of the keys of all channels.
  package static let channels = "push:channel:"

  /// | `martlet:instance:<token>` | string | 1 year | the id of the instance that registered the token last |
  public static func instanceOfToken(_ token: DeviceToken) -> String { holder(of: token.text) }

  static func holder(of entry: String) -> String { "martlet:instance:\(entry)" }

  /// | `push:app:<bundleId>:tokens:<shard>` | sorted set, scores 0 | audience of an app: its devices of the kind `app`, in
  /// the shards 0 to 15 (by FNV-1a of the token) |
  public static func audience(_ bundleID: String, shard: Int) -> String { "push:app:\(bundleID):tokens:\(shard)" }

  /// | `push:activity:<id>:tokens` | hash, 12 h from the last registration | the update tokens of a Live Activity, each
  /// with its metadata. `push:token:<token>` decides. |
  public static func activityTokens(_ id: String) -> String { "push:activity:\(id):tokens" }

  /// ``RefusalNote``:
  /// | `martlet:refusal:<token>` | string | 3 days | what APNs answered last when it refused a push to the device, JSON:
  /// `reason`, `status` (0: an invalid push, which was not sent), `at`, `job`, `turn` (of its attempt, if it is not the
  /// first), `topic`, `environment`. A worker writes at most a thousand at once and ten a second in the long run. |
  public static func refusal(_ token: DeviceToken) -> String { "\(refusals)\(token.text)" }

  /// The beginning of the keys of all of them.
  package static let refusals = "martlet:refusal:"

  /// ``RefusalNote``:
  /// | `martlet:removal:<username>` | string | 3 days | the same for the user's device that was removed last because APNs
  /// called it stale, with its `token` |
  public static func removal(_ username: Username) -> String { "martlet:removal:\(username)" }

  /// | `martlet:gone:<address>` | hash | 3 days from the first one | since when devices are gone, in unix ms, that a client
  /// of the [Matrix push gateway](http/matrix-api.md#rejected-pushkeys) has named, by `<token> <bundle id>`; up to 10,000.
  /// The gateway reads what is kept for the client. |
  package static func gone(_ client: String) -> String { "martlet:gone:\(client)" }

  /// | `martlet:{registry}:walk` | string | 1 h | the default app, or nothing if there is none, while a worker has looked
  /// through all devices within the last hour |
  package static let walk = "martlet:{registry}:walk"

  /// | `martlet:{registry:<shard>}:journal` | sorted set | none | on a cluster: changes to devices under way, `<token>
  /// <number>` by the time they began (unix seconds); in shards as an audience. [Devices on a
  /// cluster](architecture.md#devices-on-a-cluster) |
  static func journal(shard: Int) -> String { "martlet:{registry:\(shard)}:journal" }
}

/// The Redis keys of credentials and limits.
public enum CredentialKeys {
  /// Hash: the JSON of each ``Credential`` by its name.
  public static func credentials(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue)" }

  /// Hash: the name of each credential by the digest of its secret.
  static func credentialDigests(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue):digests" }

  /// Hash: when each credential was last used, in unix milliseconds, by ``Credential/useKey``.
  static func lastUses(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue):used" }

  /// String: there has been an operator. Without it and without operators the dashboard needs no sign-in.
  public static let operatorMark = "martlet:{credentials}:operator:existed"

  /// The mark of operators. Other kinds have none, and scripts get the records in its place.
  static func mark(_ kind: Credential.Kind) -> String { kind == .operator ? operatorMark : credentials(kind) }

  /// Hash: the token bucket of an API key and its requests of the day.
  static func allowance(_ key: String) -> String { "martlet:{allowance}:\(key)" }

  /// String with a TTL: how often an action has happened in a window.
  static func windowCount(_ action: LimitedAction, _ subject: String) -> String {
    "martlet:{limit}:\(action.rawValue):\(subject)"
  }
}

/// The Redis keys of credentials and limits.
public enum CredentialKeys {
  /// Hash of ``Credential``s by their names.
  public static func credentials(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue)" }

  /// Hash of the same names by the digests of their secrets.
  static func credentialDigests(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue):digests" }

  /// Hash: what an API key has asked for lately, a token bucket and the count of a day.
  static func allowance(_ key: String) -> String { "martlet:{allowance}:\(key)" }

  /// String with a TTL: how often something has happened in a window.
  static func windowCount(_ action: LimitedAction, _ subject: String) -> String {
    "martlet:{limit}:\(action.rawValue):\(subject)"
  }
}

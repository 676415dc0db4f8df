/// The Redis keys of credentials and limits.
public enum CredentialKeys {
  /// ``Credential``:
  /// | `martlet:{credentials}:user`, `:key`, `:instance`, `:operator` | hash | none | by name, JSON: `sha256`, `createdAt`,
  /// `enabled`; of a key `scopes`, `quota`; of an operator `role`; `apps` if it is bound to apps; `label` of a user's
  /// secret unless it is `default`, and `secrets`, the user's further secrets, each with `label`, `sha256`, `createdAt`,
  /// `apps` |
  public static func credentials(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue)" }

  /// | `martlet:{credentials}:user:digests`, `:key:digests`, `:instance:digests`, `:operator:digests` | hash | none | the
  /// names by the SHA-256 of their secrets |
  static func credentialDigests(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue):digests" }

  /// | `martlet:{credentials}:user:used`, `:key:used`, `:instance:used`, `:operator:used` | hash | none | when each was
  /// last used, by name, of a secret with another label than `default` by name, line feed and label; written at most once a
  /// minute for each |
  static func lastUses(_ kind: Credential.Kind) -> String { "martlet:{credentials}:\(kind.rawValue):used" }

  /// | `martlet:{credentials}:operator:existed` | string | none | there has been an operator, so the dashboard [needs a
  /// sign-in](dashboard.md#access) |
  public static let operatorMark = "martlet:{credentials}:operator:existed"

  /// The mark of operators. Other kinds have none, and scripts get the records in its place.
  static func mark(_ kind: Credential.Kind) -> String { kind == .operator ? operatorMark : credentials(kind) }

  /// | `martlet:{allowance}:<key>` | hash | 2 days | requests of an API key to `/devices` and its jobs of the gorush
  /// API: token bucket `millionths`, `at` (unix microseconds), and `count` of the UTC `day` |
  static func allowance(_ key: String) -> String { "martlet:{allowance}:\(key)" }

  /// | `martlet:{limit}:<action>:<subject>` | string | the window | count of a [limit](http/README.md#limits).
  /// `register:user:<name>`, `register:instance:<id>`, `test:user:<name>`, `broadcast:key:<name>`,
  /// `broadcast:address:<address>`, `notification:address:<address>` and `notification:device:token:<token>` of the [Matrix
  /// push gateway](http/matrix-api.md), `failure:<kind>:<address>:<name>`, and for all names of an address
  /// `failure:<kind>:<address>` |
  static func windowCount(_ action: LimitedAction, _ subject: String) -> String {
    "martlet:{limit}:\(action.rawValue):\(subject)"
  }
}

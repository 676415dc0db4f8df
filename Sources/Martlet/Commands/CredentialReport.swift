import Credentials
import JSON
import Program

/// The output of `martlet credentials`. It contains no digest, and a secret only when it was added.
enum CredentialReport {
  /// `usedAt` is in unix ms, nil if it has not been used.
  typealias Row = (credential: Credential, usedAt: Int64?)

  static func added(_ credential: Credential, secret: String) -> String {
    let object: JSONObject = [
      "kind": credential.kind.rawValue, "name": credential.name, "label": credential.ownLabel, "secret": secret,
    ]
    return object.line
  }

  /// Returns one object per line.
  static func json(_ rows: [Row]) -> String {
    rows.map { credential, usedAt in
      let (isKey, apps) = (credential.kind == .key, credential.apps)
      let object: JSONObject = [
        "kind": credential.kind.rawValue, "name": credential.name, "label": credential.ownLabel,
        "enabled": credential.isEnabled, "createdAt": credential.createdAt, "lastUsedAt": usedAt,
        "scopes": isKey ? scopes(credential) : nil,
        "quota": isKey ? credential.quota.json : nil,
        "role": credential.kind == .operator ? credential.role.rawValue : nil,
        "apps": apps.isForEveryApp ? nil : apps.json,
      ]
      return object.line
    }.joined()
  }

  static func table(_ rows: [Row]) -> String {
    guard !rows.isEmpty else { return "no credentials\n" }
    return Console.table(
      ["kind", "name", "label", "enabled", "role", "apps", "scopes", "quota", "created", "last use"],
      rows.map { credential, usedAt in
        let isKey = credential.kind == .key
        let quota = credential.quota
        return [
          credential.kind.rawValue, credential.name, credential.ownLabel ?? "-", credential.isEnabled ? "yes" : "no",
          credential.kind == .operator ? credential.role.rawValue : "-", apps(credential),
          isKey ? scopes(credential).joined(separator: ",") : "-",
          isKey ? "\(quota.perSecond)/s burst \(quota.burst), \(quota.perDay)/day" : "-",
          Timestamp.text(credential.createdAt), usedAt.map(Timestamp.text) ?? "-",
        ]
      })
  }

  private static func apps(_ credential: Credential) -> String {
    if credential.kind == .instance || credential.kind == .operator { return "-" }
    return credential.apps.isForEveryApp ? "all" : credential.apps.apps.joined(separator: ",")
  }

  private static func scopes(_ credential: Credential) -> [String] { credential.scopes.map(\.rawValue).sorted() }
}

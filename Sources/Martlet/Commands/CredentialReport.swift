import Credentials
import JSON
import Registry

/// Credentials as they are shown: never a digest, a secret only to who has just added it.
enum CredentialReport {
  static func added(_ credential: Credential, secret: String) -> String {
    line([
      JSONMember(key: "kind", value: .string(credential.kind.rawValue)),
      JSONMember(key: "name", value: .string(credential.name)), JSONMember(key: "secret", value: .string(secret)),
    ])
  }

  /// An object per line.
  static func json(_ credentials: [Credential]) -> String {
    credentials.map { credential in
      var members = [
        JSONMember(key: "kind", value: .string(credential.kind.rawValue)),
        JSONMember(key: "name", value: .string(credential.name)),
        JSONMember(key: "enabled", value: .bool(credential.isEnabled)),
        JSONMember(key: "createdAt", value: .integer(credential.createdAt)),
      ]
      if credential.kind == .key {
        members.append(JSONMember(key: "scopes", value: .array(scopes(credential).map(JSONValue.string))))
        members.append(JSONMember(key: "quota", value: quota(credential.quota)))
      }
      return line(members)
    }.joined()
  }

  static func table(_ credentials: [Credential]) -> String {
    guard !credentials.isEmpty else { return "no credentials\n" }
    return Console.table(
      ["kind", "name", "enabled", "scopes", "quota", "created"],
      credentials.map { credential in
        let isKey = credential.kind == .key
        let quota = credential.quota
        return [
          credential.kind.rawValue, credential.name, credential.isEnabled ? "yes" : "no",
          isKey ? scopes(credential).joined(separator: ",") : "-",
          isKey ? "\(quota.perSecond)/s burst \(quota.burst), \(quota.perDay)/day" : "-",
          Timestamp.text(credential.createdAt),
        ]
      })
  }

  private static func scopes(_ credential: Credential) -> [String] { credential.scopes.map(\.rawValue).sorted() }

  private static func quota(_ quota: KeyQuota) -> JSONValue {
    .object([
      JSONMember(key: "perSecond", value: .integer(Int64(quota.perSecond))),
      JSONMember(key: "burst", value: .integer(Int64(quota.burst))),
      JSONMember(key: "perDay", value: .integer(Int64(quota.perDay))),
    ])
  }

  private static func line(_ members: [JSONMember]) -> String {
    String(decoding: JSONValue.object(members).bytes, as: UTF8.self) + "\n"
  }
}

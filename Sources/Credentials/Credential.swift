import Crypto
import JSON

/// Who may call the sidecar. The secret itself is stored nowhere.
public struct Credential: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    /// A bearer token that goes with a username.
    case user
    /// An API key of an app.
    case key
    /// A device key that goes with an instance.
    case instance
  }

  public let kind: Kind
  /// A username (normalised), the name of an API key, the id of an instance.
  public let name: String
  /// SHA-256 of the secret, 64 hexadecimal digits.
  public let digest: String
  /// Unix milliseconds.
  public let createdAt: Int64
  public var isEnabled: Bool
  /// Of a key: what it may be used for.
  public let scopes: Set<KeyScope>
  /// Of a key.
  public let quota: KeyQuota

  public init(
    kind: Kind, name: String, digest: String, createdAt: Int64, isEnabled: Bool = true,
    scopes: Set<KeyScope> = Set(KeyScope.allCases), quota: KeyQuota = .standard
  ) {
    self.kind = kind
    self.name = name
    self.digest = digest
    self.createdAt = createdAt
    self.isEnabled = isEnabled
    self.scopes = scopes
    self.quota = quota
  }

  /// What is stored of `secret`.
  public static func digest(of secret: String) -> String { SHA256.hex(secret) }

  /// Nil when it is no record of a credential.
  init?(kind: Kind, name: String, json: [UInt8]) {
    let value: JSONValue
    do { value = try JSONValue(parsing: json) } catch { return nil }
    guard let digest = value["sha256"]?.string, let createdAt = value["createdAt"]?.integer else { return nil }
    let scopes = value["scopes"]?.array?.compactMap { $0.string.flatMap(KeyScope.init) }
    self.init(
      kind: kind, name: name, digest: digest, createdAt: createdAt, isEnabled: value["enabled"]?.bool ?? true,
      scopes: Set(scopes ?? []), quota: KeyQuota(value["quota"]))
  }

  /// `{"sha256","createdAt","enabled"}`, of a key `scopes` and `quota` too.
  func json() -> [UInt8] {
    var members = [
      JSONMember(key: "sha256", value: .string(digest)), JSONMember(key: "createdAt", value: .integer(createdAt)),
      JSONMember(key: "enabled", value: .bool(isEnabled)),
    ]
    if kind == .key {
      let names = scopes.map(\.rawValue).sorted()
      members.append(JSONMember(key: "scopes", value: .array(names.map(JSONValue.string))))
      members.append(JSONMember(key: "quota", value: quota.json))
    }
    return JSONValue.object(members).bytes
  }
}

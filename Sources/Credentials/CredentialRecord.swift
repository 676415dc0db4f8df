import JSON
import PushModel

/// What Redis holds under a name: a credential. A user may have several, one for each label, which are enabled and disabled
/// together.
///
/// JSON `{"sha256","createdAt","enabled"}`; for an API key also `scopes` and `quota`, for an operator `role`; `apps` if it is
/// bound to apps; `label` unless it is ``Credential/defaultLabel``. `secrets` has the further secrets of a user, each
/// `{"label","sha256","createdAt","apps"}`.
struct CredentialRecord: Sendable, Equatable {
  /// In the order in which they were added, at least one.
  private(set) var credentials: [Credential]

  init(_ first: Credential) {
    credentials = [first]
  }

  /// Returns nil if `json` is not the record of a credential. The name of a user is brought to its one form. Malformed further
  /// secrets are left out.
  init?(kind: Credential.Kind, name: String, json: [UInt8]) {
    let value: JSONValue
    do { value = try JSONValue(parsing: json) } catch { return nil }
    let isEnabled = value["enabled"]?.bool ?? true
    let name = kind == .user ? Username(name).text : name
    guard let first = Credential(kind: kind, name: name, value, isEnabled: isEnabled) else { return nil }
    credentials = [first]
    for further in (value["secrets"]?.array ?? []).prefix(Credential.maximumSecrets - 1) where kind == .user {
      guard let secret = Credential(kind: kind, name: name, further, isEnabled: isEnabled) else { continue }
      credentials.append(secret)
    }
  }

  var json: [UInt8] {
    let (first, further) = (credentials[0], credentials.dropFirst())
    let isKey = first.kind == .key
    let object: JSONObject = [
      "sha256": first.digest, "createdAt": first.createdAt, "enabled": first.isEnabled,
      "scopes": isKey ? first.scopes.map(\.rawValue).sorted() : nil, "quota": isKey ? first.quota.json : nil,
      "role": first.kind == .operator ? first.role.rawValue : nil, "apps": first.storedApps,
      "label": first.storedLabel,
      "secrets": further.isEmpty ? nil : further.map(\.furtherJSON),
    ]
    return object.bytes
  }

  var isEnabled: Bool {
    get { credentials[0].isEnabled }
    set { for index in credentials.indices { credentials[index].isEnabled = newValue } }
  }

  /// Adds a further secret, which is enabled if the others are. Returns why it cannot be added.
  mutating func add(_ credential: Credential) -> Credentials.Conflict? {
    guard credential.label != Credential.defaultLabel else { return .nameTaken }
    guard !credentials.contains(where: { $0.label == credential.label }) else { return .labelTaken }
    guard credentials.count < Credential.maximumSecrets else { return .tooMany }
    guard credential.isEnabled || !isEnabled else { return .enabled }
    credentials.append(credential)
    credentials[credentials.count - 1].isEnabled = isEnabled
    return nil
  }

  /// Removes the secret of this label, or all without a label. Returns those that were removed.
  mutating func remove(_ label: String?) -> [Credential] {
    let removed = credentials.filter { label == nil || $0.label == label }
    credentials.removeAll { label == nil || $0.label == label }
    return removed
  }
}

extension Credential {
  /// Returns nil if `value` has no secret, or malformed apps: the credential must then be for no app rather than for every one.
  fileprivate init?(kind: Kind, name: String, _ value: JSONValue, isEnabled: Bool) {
    guard let digest = value["sha256"]?.string, let createdAt = value["createdAt"]?.time,
      let apps = AppBinding(value["apps"])
    else { return nil }
    let scopes = value["scopes"]?.array?.compactMap { $0.string.flatMap(KeyScope.init) }
    self.init(
      kind: kind, name: name, label: value["label"]?.string ?? Credential.defaultLabel, digest: digest,
      createdAt: createdAt, isEnabled: isEnabled, scopes: Set(scopes ?? []), quota: KeyQuota(value["quota"]),
      apps: apps,
      // A role that this version does not know must not allow more than reading.
      role: value["role"]?.string.flatMap(OperatorRole.init) ?? .viewer)
  }

  fileprivate var storedLabel: String? { label == Credential.defaultLabel ? nil : label }

  fileprivate var storedApps: JSONValue? { apps.isForEveryApp ? nil : apps.json }

  fileprivate var furtherJSON: JSONObject {
    ["label": storedLabel, "sha256": digest, "createdAt": createdAt, "apps": storedApps]
  }
}

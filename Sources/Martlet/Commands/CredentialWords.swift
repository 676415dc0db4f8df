import Credentials
import Program
import PushModel
import Registry
import Telemetry

/// The credential that a command line names.
struct CredentialWords {
  /// All options and flags of a credential.
  static let options = ["secret", "disabled", "app", "role", "label"] + keyOptions
  private static let keyOptions = ["scopes", "rate", "burst", "daily"]
  private static let maximumQuota = 1_000_000_000

  let kind: Credential.Kind
  /// The normalised name.
  let name: String
  /// Which of a user's secrets; nil if the command line names none.
  let label: String?
  private let isEnabled: Bool
  private let scopes: Set<KeyScope>
  private let quota: KeyQuota
  private let apps: AppBinding
  private let role: OperatorRole

  /// Parses `VERB KIND NAME`. Only a new credential may have settings.
  init(_ line: CommandLineWords, isNew: Bool) throws(CommandError) {
    guard line.positional.count == 3 else { throw .usage("expected user, key, instance or operator, and a name") }
    kind = try CredentialWords.kind(line.positional[1])
    guard let name = Credential.normalized(line.positional[2], of: kind) else {
      throw .usage(
        "'\(line.positional[2])' is not a name of a \(kind.rawValue); expected \(Credential.expectedName(of: kind))"
      )
    }
    if isNew, let fault = CredentialWords.fault(ofNew: name, kind) { throw .usage(fault) }
    self.name = name
    if !isNew {
      try line.refuse(["secret", "disabled", "app", "role"] + CredentialWords.keyOptions, "is for add")
    }
    label = try CredentialWords.label(line, kind)
    if kind != .key { try line.refuse(CredentialWords.keyOptions, "is for keys") }
    if kind == .instance || kind == .operator {
      try line.refuse(["app"], "is for users and keys")
    }
    if kind != .operator { try line.refuse(["role"], "is for operators") }
    guard line.value("secret") ?? "-" == "-" else {
      throw .usage("--secret takes only -: the secret is read from stdin, so that no list of processes shows it")
    }
    isEnabled = !line.has("disabled")
    scopes = try CredentialWords.scopes(line)
    quota = try CredentialWords.quota(line)
    apps = try CredentialWords.apps(line)
    role = try CredentialWords.role(line)
  }

  /// Returns why no new credential may have this name. Users from before keep their names, and can be revoked.
  static func fault(ofNew name: String, _ kind: Credential.Kind) -> String? {
    let shown = TerminalText.line(name)
    guard shown == name else {
      return "'\(shown)' has format characters or line separators, which make a name look like another one"
    }
    guard kind == .operator, name.contains(":") else { return nil }
    return "an operator's name cannot contain ':': in Basic credentials it ends the name"
  }

  /// Returns the credential to add.
  func credential(secret: String, now: Int64) -> Credential {
    Credential(
      kind: kind, name: name, label: label ?? Credential.defaultLabel, digest: Credential.digest(of: secret),
      createdAt: now, isEnabled: isEnabled, scopes: scopes, quota: quota, apps: apps, role: role)
  }

  /// Parses `VERB [KIND]`. Returns all kinds if there is none.
  static func kinds(_ line: CommandLineWords) throws(CommandError) -> [Credential.Kind] {
    guard line.positional.count <= 2 else { throw .usage("expected at most one of user, key, instance or operator") }
    return line.positional.count == 2 ? [try kind(line.positional[1])] : Credential.Kind.allCases
  }

  private static func label(
    _ line: CommandLineWords, _ kind: Credential.Kind
  ) throws(CommandError) -> String? {
    guard let label = line.value("label") else { return nil }
    guard kind == .user, ["add", "revoke"].contains(line.positional[0]) else {
      throw .usage("--label is for add and revoke of users only")
    }
    guard Credential.isLabel(label) else {
      throw .usage("--label: '\(label)' is not a label; expected \(Credential.expectedLabel)")
    }
    return label
  }

  private static func quota(_ line: CommandLineWords) throws(CommandError) -> KeyQuota {
    let standard = KeyQuota.standard
    let range = 1...maximumQuota
    let perSecond = try line.integer("rate", in: range) ?? standard.perSecond
    return KeyQuota(
      perSecond: perSecond, burst: try line.integer("burst", in: range) ?? max(standard.burst, perSecond),
      perDay: try line.integer("daily", in: range) ?? standard.perDay)
  }

  private static func apps(_ line: CommandLineWords) throws(CommandError) -> AppBinding {
    let apps = Set(line.values("app"))
    guard apps.count <= AppBinding.maximumApps else {
      throw .usage("--app: at most \(AppBinding.maximumApps) apps for one credential")
    }
    for app in line.values("app") where !BundleID.isWellFormed(app) {
      throw .usage("--app: '\(app)' is not a bundle id; expected \(Charset.bundleID.description)")
    }
    return AppBinding(apps)
  }

  private static func role(_ line: CommandLineWords) throws(CommandError) -> OperatorRole {
    guard let word = line.value("role") else { return .viewer }
    guard let role = OperatorRole(rawValue: word) else {
      let known = OperatorRole.allCases.map(\.rawValue).joined(separator: ", ")
      throw .usage("--role: '\(word)' is not a role; expected one of \(known)")
    }
    return role
  }

  private static func scopes(_ line: CommandLineWords) throws(CommandError) -> Set<KeyScope> {
    guard let text = line.value("scopes") else { return Set(KeyScope.allCases) }
    var scopes: Set<KeyScope> = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let scope = KeyScope(rawValue: String(word)) else {
        let known = KeyScope.allCases.map(\.rawValue).joined(separator: ",")
        throw .usage("--scopes: '\(word)' is not a scope; expected one or more of \(known)")
      }
      scopes.insert(scope)
    }
    return scopes
  }

  private static func kind(_ word: String) throws(CommandError) -> Credential.Kind {
    guard let kind = Credential.Kind(rawValue: word) else {
      throw .usage("expected user, key, instance or operator, not '\(word)'")
    }
    return kind
  }
}

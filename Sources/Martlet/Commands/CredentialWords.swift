import Credentials
import Usage
import Program
import PushModel
import Registry
import Telemetry

/// The credential that a command line names.
struct CredentialWords {
  /// The options of a new credential.
  static let settings: [CommandOption] =
    [
      .init(
        "secret", .text("-"),
        "read the secret from stdin (one line, 16 to 512 bytes), for clients that already have one"),
      .init("disabled", "add the credential disabled"),
      .init(
        "app", .text("BUNDLE_ID"), isRepeatable: true,
        "the user or key is for this app only; without it, for every app"),
      .init(
        "role", .choice("ROLE", OperatorRole.allCases.map(\.rawValue)), "what an operator may do; default: viewer"),
    ] + ofKeys
  private static let ofKeys: [CommandOption] = [
    .init(
      "scopes", .list("LIST", KeyScope.allCases.map(\.rawValue)),
      """
      what a key may do: devices (/devices), tokens (/newtoken), push (/newpush), jobs (/api/push), separated by commas; \
      default: all
      """),
    .init(
      "rate", .number("N", quotas), "requests of a key to /devices a second; default: \(KeyQuota.standard.perSecond)"),
    .init("burst", .number("N", quotas), "requests of a key at once; default: \(KeyQuota.standard.burst)"),
    .init("daily", .number("N", quotas), "requests of a key in a UTC day; default: \(KeyQuota.standard.perDay)"),
  ]
  private static let quotas = 1...1_000_000_000

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

  /// Reads a kind and a name. Only a new credential may have settings.
  init(_ line: CommandLineWords, isNew: Bool) throws(CommandError) {
    kind = CredentialWords.kind(line)
    guard let name = Credential.normalized(line.arguments[1], of: kind) else {
      throw .usage(
        "'\(line.arguments[1])' is not a name of a \(kind.rawValue); expected \(Credential.expectedName(of: kind))"
      )
    }
    if isNew, let fault = CredentialWords.fault(ofNew: name, kind) { throw .usage(fault) }
    self.name = name
    label = try CredentialWords.label(line, kind)
    if kind != .key { try line.refuse(CredentialWords.ofKeys.map(\.name), "is for keys") }
    if kind == .instance || kind == .operator {
      try line.refuse(["app"], "is for users and keys")
    }
    if kind != .operator { try line.refuse(["role"], "is for operators") }
    guard line.value("secret") ?? "-" == "-" else {
      throw .usage("--secret takes only -: the secret is read from stdin, so that no list of processes shows it")
    }
    isEnabled = !line.has("disabled")
    scopes = CredentialWords.scopes(line)
    quota = CredentialWords.quota(line)
    apps = try CredentialWords.apps(line)
    role = line.value("role").flatMap(OperatorRole.init) ?? .viewer
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

  private static func label(
    _ line: CommandLineWords, _ kind: Credential.Kind
  ) throws(CommandError) -> String? {
    guard let label = line.value("label") else { return nil }
    guard kind == .user else { throw .usage("--label is for users only") }
    guard Credential.isLabel(label) else {
      throw .usage("--label: '\(label)' is not a label; expected \(Credential.expectedLabel)")
    }
    return label
  }

  private static func quota(_ line: CommandLineWords) -> KeyQuota {
    let standard = KeyQuota.standard
    let perSecond = line.integer("rate") ?? standard.perSecond
    return KeyQuota(
      perSecond: perSecond, burst: line.integer("burst") ?? max(standard.burst, perSecond),
      perDay: line.integer("daily") ?? standard.perDay)
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

  private static func scopes(_ line: CommandLineWords) -> Set<KeyScope> {
    guard let text = line.value("scopes") else { return Set(KeyScope.allCases) }
    return Set(text.split(separator: ",").compactMap { KeyScope(rawValue: String($0)) })
  }

  static func kind(_ line: CommandLineWords) -> Credential.Kind {
    guard let kind = Credential.Kind(rawValue: line.arguments[0]) else { preconditionFailure("not a kind") }
    return kind
  }
}

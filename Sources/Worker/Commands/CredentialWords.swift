import Registry

/// Which credential a command line means.
struct CredentialWords {
  private static let quotaOptions = ["rate", "burst", "daily"]
  private static let maximumQuota = 1_000_000_000

  let kind: Credential.Kind
  /// Normalised.
  let name: String

  /// Of `VERB KIND NAME`.
  init(_ line: CommandLineWords) throws(CommandLineWords.Misuse) {
    guard line.positional.count == 3 else { throw .init(message: "expected user, key or instance, and a name") }
    kind = try CredentialWords.kind(line.positional[1])
    guard let name = Credential.normalized(line.positional[2], of: kind) else {
      throw .init(
        message:
          "a \(kind.rawValue) cannot be named '\(line.positional[2])'; expected \(Credential.expectedName(of: kind))"
      )
    }
    self.name = name
  }

  /// Of `VERB [KIND]`; without, all of them.
  static func kinds(_ line: CommandLineWords) throws(CommandLineWords.Misuse) -> [Credential.Kind] {
    guard line.positional.count <= 2 else { throw .init(message: "expected at most one of user, key or instance") }
    return line.positional.count == 2 ? [try kind(line.positional[1])] : Credential.Kind.allCases
  }

  /// The credential to be added.
  func credential(secret: String, _ line: CommandLineWords, now: Int64) throws(CommandLineWords.Misuse) -> Credential {
    guard line.value("secret") ?? "-" == "-" else {
      throw .init(message: "--secret takes only -: the secret is read from stdin, where no list of processes shows it")
    }
    if kind != .key { try refuse(["scopes"] + CredentialWords.quotaOptions, of: line, "is for keys only") }
    let standard = KeyQuota.standard
    let range = 1...CredentialWords.maximumQuota
    let perSecond = try line.integer("rate", in: range) ?? standard.perSecond
    let quota = KeyQuota(
      perSecond: perSecond, burst: try line.integer("burst", in: range) ?? max(standard.burst, perSecond),
      perDay: try line.integer("daily", in: range) ?? standard.perDay)
    return Credential(
      kind: kind, name: name, digest: Credential.digest(of: secret), createdAt: now, isEnabled: !line.has("disabled"),
      scopes: try scopes(line), quota: quota)
  }

  /// Nothing but a name goes with the verbs that change what is there.
  func refuseSettings(of line: CommandLineWords) throws(CommandLineWords.Misuse) {
    try refuse(["secret", "scopes"] + CredentialWords.quotaOptions, of: line, "goes with add only")
    if line.has("disabled") { throw .init(message: "--disabled goes with add only") }
  }

  private func refuse(
    _ options: [String], of line: CommandLineWords, _ reason: String
  ) throws(CommandLineWords.Misuse) {
    for option in options where line.value(option) != nil { throw .init(message: "--\(option) \(reason)") }
  }

  private func scopes(_ line: CommandLineWords) throws(CommandLineWords.Misuse) -> Set<KeyScope> {
    guard let text = line.value("scopes") else { return Set(KeyScope.allCases) }
    var scopes: Set<KeyScope> = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let scope = KeyScope(rawValue: String(word)) else {
        let known = KeyScope.allCases.map(\.rawValue).joined(separator: ",")
        throw .init(message: "--scopes: there is no '\(word)'; expected one or more of \(known)")
      }
      scopes.insert(scope)
    }
    return scopes
  }

  private static func kind(_ word: String) throws(CommandLineWords.Misuse) -> Credential.Kind {
    guard let kind = Credential.Kind(rawValue: word) else {
      throw .init(message: "expected user, key or instance, not '\(word)'")
    }
    return kind
  }
}

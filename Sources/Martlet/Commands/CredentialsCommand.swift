import Credentials
import EventLoop
import JSON
import Registry

/// `martlet credentials`: manages who may call the sidecar, and who may use the dashboard.
enum CredentialsCommand: Command {
  static let name = "credentials"
  static let summary = "add, list, revoke or disable tokens, keys and operators"
  static let help = """
    usage: martlet credentials add user|key|instance|operator NAME [--secret -] [--disabled] [--json]
                               [--app BUNDLE_ID]... [--scopes devices,tokens,push] [--rate N] [--burst N] [--daily N]
                               [--role viewer|operator|admin]
           martlet credentials list [user|key|instance|operator] [--json]
           martlet credentials revoke|enable|disable user|key|instance|operator NAME

    A user has a bearer token, an app an API key, an instance a device key, an operator of the dashboard a secret. add creates
    a secret of 256 bits and prints it once; only its SHA-256 is stored. Each name has one secret. To change it, revoke it and
    add it again. A credential that is revoked or disabled is refused from the next request on.

      --secret -         read the secret from stdin (one line, 16 to 512 bytes), for clients that already have one
      --disabled         add the credential disabled
      --app BUNDLE_ID    may be repeated: the user or key is for this app only; without it, for every app
      --scopes LIST      permissions of a key; default: all of devices (/devices), tokens (/newtoken), push (/newpush)
      --rate N --burst N --daily N
                         requests of a key to /devices: per second, at once, per UTC day; default 100, 200, 10000
      --role ROLE        what an operator may do: viewer (default) reads; operator also pauses, resumes, cancels, retries,
                         requeues, sends test pushes, drains workers and sees payloads; admin also purges dead letters,
                         removes devices, enables, disables and revokes credentials, and sees whole tokens
      --json             print {"kind","name","secret"}; list: one object per line

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(
      words, options: ["secret", "app", "scopes", "rate", "burst", "daily", "role"], flags: ["disabled", "json"])
    let verb = line.positional.first ?? ""
    switch verb {
    case "list":
      try await list(try CredentialWords.kinds(line), line)
    case "add":
      try await add(try CredentialWords(line, isNew: true), line)
    case "revoke", "enable", "disable":
      try await change(try CredentialWords(line, isNew: false), verb)
    default: throw CommandError.usage("expected add, list, revoke, enable or disable")
    }
    return .done
  }

  private static func add(_ words: CredentialWords, _ line: CommandLineWords) async throws {
    let configuration = try ClientConfiguration()
    let given = line.value("secret") == nil ? nil : try readSecret()
    let secret = given ?? Credential.randomSecret()
    let credential = words.credential(secret: secret, now: Clock.unixMilliseconds)
    let conflict = try await configuration.withConnection { connection in
      try await Credentials(connection: connection).add(credential)
    }
    let title = "\(credential.kind.rawValue) '\(credential.name)'"
    switch conflict {
    case nil: break
    case .nameTaken:
      throw CommandError.failed(
        "\(title) already has a secret; to change it, revoke it first, then add it again")
    case .secretTaken:
      throw CommandError.failed(
        "another \(credential.kind.rawValue) has this secret; each needs its own"
      )
    }
    if line.has("json") {
      Console.print(CredentialReport.added(credential, secret: secret))
    } else if given != nil {
      Console.print("added \(title)\n")
    } else {
      Console.print("\(secret)\n")
      Console.complain("This is the secret of \(title). It is not stored and will not be shown again.\n")
    }
  }

  private static func list(_ kinds: [Credential.Kind], _ line: CommandLineWords) async throws {
    let configuration = try ClientConfiguration()
    let found = try await configuration.withConnection { connection in
      let credentials = Credentials(connection: connection)
      var found: [Credential] = []
      for kind in kinds { found += try await credentials.list(kind) }
      return found
    }
    Console.print(line.has("json") ? CredentialReport.json(found) : CredentialReport.table(found))
  }

  private static func change(_ words: CredentialWords, _ verb: String) async throws {
    let configuration = try ClientConfiguration()
    let (isFound, isLastOperator): (Bool, Bool) = try await configuration.withConnection { connection in
      let credentials = Credentials(connection: connection)
      guard verb == "revoke" else {
        return (try await credentials.setEnabled(verb == "enable", words.kind, words.name), false)
      }
      let isFound = try await credentials.revoke(words.kind, words.name)
      guard words.kind == .operator else { return (isFound, false) }
      return (isFound, try await credentials.operatorPresence() == .revoked)
    }
    guard isFound else {
      throw CommandError.failed(
        "there is no \(words.kind.rawValue) '\(words.name)'; martlet credentials list shows all")
    }
    Console.print("\(verb)d \(words.kind.rawValue) '\(words.name)'\n")
    guard isLastOperator else { return }
    Console.complain(
      "No operator is left: the dashboard refuses everybody. Add one: martlet credentials add operator NAME --role admin\n"
    )
  }

  /// Reads the secret from the only line of stdin.
  private static func readSecret() throws -> String {
    var lines = Console.lines(maximumBytes: 1024).makeIterator()
    var bytes = lines.next() ?? []
    if bytes.last == 0x0D { bytes.removeLast() }
    guard let secret = Credential.secret(bytes), lines.next() == nil else {
      throw CommandError.failed("no usable secret on stdin; expected one line of \(Credential.expectedSecret)")
    }
    return secret
  }
}

/// The output of `martlet credentials`. It contains no digest, and a secret only when it was added.
enum CredentialReport {
  static func added(_ credential: Credential, secret: String) -> String {
    let object: JSONObject = ["kind": credential.kind.rawValue, "name": credential.name, "secret": secret]
    return object.line
  }

  /// Returns one object per line.
  static func json(_ credentials: [Credential]) -> String {
    credentials.map { credential in
      let (isKey, apps) = (credential.kind == .key, credential.apps)
      let object: JSONObject = [
        "kind": credential.kind.rawValue, "name": credential.name, "enabled": credential.isEnabled,
        "createdAt": credential.createdAt, "scopes": isKey ? scopes(credential) : nil,
        "quota": isKey ? credential.quota.json : nil,
        "role": credential.kind == .operator ? credential.role.rawValue : nil,
        "apps": apps.isForEveryApp ? nil : apps.json,
      ]
      return object.line
    }.joined()
  }

  static func table(_ credentials: [Credential]) -> String {
    guard !credentials.isEmpty else { return "no credentials\n" }
    return Console.table(
      ["kind", "name", "enabled", "role", "apps", "scopes", "quota", "created"],
      credentials.map { credential in
        let isKey = credential.kind == .key
        let quota = credential.quota
        return [
          credential.kind.rawValue, credential.name, credential.isEnabled ? "yes" : "no",
          credential.kind == .operator ? credential.role.rawValue : "-", apps(credential),
          isKey ? scopes(credential).joined(separator: ",") : "-",
          isKey ? "\(quota.perSecond)/s burst \(quota.burst), \(quota.perDay)/day" : "-",
          Timestamp.text(credential.createdAt),
        ]
      })
  }

  private static func apps(_ credential: Credential) -> String {
    if credential.kind == .instance || credential.kind == .operator { return "-" }
    return credential.apps.isForEveryApp ? "all" : credential.apps.apps.joined(separator: ",")
  }

  private static func scopes(_ credential: Credential) -> [String] { credential.scopes.map(\.rawValue).sorted() }
}

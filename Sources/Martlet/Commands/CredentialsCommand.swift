import Credentials
import EventLoop
import Registry

/// `martlet credentials`: who may call the sidecar.
enum CredentialsCommand: Command {
  static let name = "credentials"
  static let summary = "add, list, revoke or disable tokens and keys of the sidecar"
  static let help = """
    usage: martlet credentials add user|key|instance NAME [--secret -] [--disabled] [--json]
                               [--scopes devices,tokens,push] [--rate N] [--burst N] [--daily N]
           martlet credentials list [user|key|instance] [--json]
           martlet credentials revoke|enable|disable user|key|instance NAME

    A user has a bearer token, an app an API key, an instance a device key. add makes a secret of 256 bits and prints it,
    this once: only its SHA-256 is stored. Each name has one secret; to change it, revoke it and add it again. What is
    revoked or disabled is refused from the next request on.

      --secret -         take the secret from stdin (one line, 16 to 512 bytes), so that existing clients go on working
      --disabled         not to be used until enable
      --scopes LIST      of a key: what it may do; default: all of devices (/devices), tokens (/newtoken), push (/newpush)
      --rate N --burst N --daily N
                         of a key: requests to /devices a second, at once, a UTC day; default 100, 200, 10000
      --json             print {"kind","name","secret"}; list: one object per line

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(
      words, options: ["secret", "scopes", "rate", "burst", "daily"], flags: ["disabled", "json"])
    let verb = line.positional.first ?? ""
    switch verb {
    case "list":
      try await list(try CredentialWords.kinds(line), line)
    case "add":
      try await add(try CredentialWords(line, isNew: true), line)
    case "revoke", "enable", "disable":
      try await change(try CredentialWords(line, isNew: false), verb)
    default: throw CommandLineWords.Misuse(message: "expected add, list, revoke, enable or disable")
    }
    return .done
  }

  private static func add(_ words: CredentialWords, _ line: CommandLineWords) async throws {
    let configuration = try ClientConfiguration(environment: EnvironmentReader.processValues)
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
      throw CommandFailure(
        message: "there is a secret of \(title) already; to change it, revoke it first and add it again")
    case .secretTaken:
      throw CommandFailure(
        message:
          "another \(credential.kind.rawValue) has that secret; each needs its own, or nobody could tell them apart"
      )
    }
    if line.has("json") {
      Console.print(CredentialReport.added(credential, secret: secret))
    } else if given != nil {
      Console.print("added \(title)\n")
    } else {
      Console.print("\(secret)\n")
      Console.complain("This is the secret of \(title). It is stored nowhere and not shown again.\n")
    }
  }

  private static func list(_ kinds: [Credential.Kind], _ line: CommandLineWords) async throws {
    let configuration = try ClientConfiguration(environment: EnvironmentReader.processValues)
    let found = try await configuration.withConnection { connection in
      let credentials = Credentials(connection: connection)
      var found: [Credential] = []
      for kind in kinds { found += try await credentials.list(kind) }
      return found
    }
    Console.print(line.has("json") ? CredentialReport.json(found) : CredentialReport.table(found))
  }

  private static func change(_ words: CredentialWords, _ verb: String) async throws {
    let configuration = try ClientConfiguration(environment: EnvironmentReader.processValues)
    let isFound = try await configuration.withConnection { connection in
      let credentials = Credentials(connection: connection)
      if verb == "revoke" { return try await credentials.revoke(words.kind, words.name) }
      return try await credentials.setEnabled(verb == "enable", words.kind, words.name)
    }
    guard isFound else {
      throw CommandFailure(
        message: "there is no \(words.kind.rawValue) '\(words.name)'; martlet credentials list shows those there are")
    }
    Console.print("\(verb)d \(words.kind.rawValue) '\(words.name)'\n")
  }

  /// The one line of stdin.
  private static func readSecret() throws -> String {
    var lines = Console.lines(maximumBytes: 1024).makeIterator()
    var bytes = lines.next() ?? []
    if bytes.last == 0x0D { bytes.removeLast() }
    guard let secret = Credential.secret(bytes), lines.next() == nil else {
      throw CommandFailure(message: "no usable secret on stdin; expected one line of \(Credential.expectedSecret)")
    }
    return secret
  }
}

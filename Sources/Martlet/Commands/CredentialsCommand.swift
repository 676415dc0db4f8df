import Credentials
import EventLoop
import JSON
import Operations
import Program
import PushModel
import Redis
import Registry
import Telemetry
import Usage

/// `martlet credentials`: manages who may call the sidecar, and who may use the dashboard.
enum CredentialsCommand: Command {
  static let usage = CommandUsage(
    "martlet credentials", "add, list, revoke or disable tokens, keys and operators",
    forms: [
      CommandForm("add", "make a secret", [kind(and: ["users"]), .name], CredentialWords.settings + [label, json]),
      CommandForm("list", "list names", [kind(isOptional: true)], [json]),
      CommandForm("revoke", "delete a name", [kind(), .name], [label]),
      CommandForm("enable", "enable a disabled name", [kind(), .name]),
      CommandForm("disable", "refuse a name until it is enabled", [kind(), .name]),
    ],
    text: """
      A user has a bearer token, an app an API key, an instance a device key, an operator of the dashboard a secret. add
      creates a secret of 256 bits and prints it once; only its SHA-256 is stored. Each name has one secret, a user up to
      100, each with a label of its own; without --label, add refuses a name that has a secret. To change a secret, revoke
      it and add it again. A credential that is revoked or disabled is refused from the next request on; enable and disable
      are about all secrets of a user.

      add users - reads JSON lines {"name":"alice","label":"phone","apps":["com.example.app"]} (label and apps are optional)
      and prints a line for each: {"name","label","secret"}, or {"line","name","error"} (exit code 1).

      What an operator may do: viewer reads; operator also pauses, resumes, cancels, retries, requeues, sends test pushes,
      drains workers and sees payloads; admin also purges dead letters, removes devices, enables, disables and revokes
      credentials, and sees whole tokens.
      """)

  private static func kind(and other: [String] = [], isOptional: Bool = false) -> CommandArgument {
    CommandArgument("KIND", of: Credential.Kind.allCases.map(\.rawValue) + other, isOptional: isOptional)
  }

  private static let label = CommandOption(
    "label", .text("LABEL"),
    """
    which secret of a user, as phone: 1 to 64 letters, digits or any of ._:-; default of add: default; revoke without it \
    revokes all secrets of the user
    """)
  private static let json = CommandOption(
    "json", "print JSON, one object a line: {\"kind\",\"name\",\"secret\"} of add")

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    switch line.action {
    case "list":
      try await list(
        line.arguments.isEmpty ? Credential.Kind.allCases : [CredentialWords.kind(line)], line, environment)
    case "add" where line.arguments[0] == "users":
      return try await addUsers(line, environment)
    case "add":
      try await add(try CredentialWords(line, isNew: true), line, environment)
    default:
      try await change(try CredentialWords(line, isNew: false), line.action, environment)
    }
    return .done
  }

  private static func add(_ words: CredentialWords, _ line: CommandLineWords, _ environment: ProcessEnvironment)
    async throws
  {
    let configuration = try ClientConfiguration(environment)
    let given = line.value("secret") == nil ? nil : try readSecret()
    let secret = given ?? Credential.randomSecret()
    let credential = words.credential(secret: secret, now: Clock.unixMilliseconds)
    let conflict = try await configuration.withConnection { connection in
      try await control(connection).add(credential)
    }
    let title = title(credential.kind, credential.name, words.label)
    if let conflict { throw CommandError.failed(reason(conflict, credential)) }
    if line.has("json") {
      Console.print(CredentialReport.added(credential, secret: secret))
    } else if given != nil {
      Console.print("added \(title)\n")
    } else {
      Console.print("\(secret)\n")
      Console.complain("This is the secret of \(title). It is not stored and will not be shown again.\n")
    }
  }

  /// Why a credential was not added.
  static func reason(_ conflict: Credentials.Conflict, _ credential: Credential) -> String {
    let title = title(credential.kind, credential.name)
    return switch conflict {
    case .nameTaken where credential.kind == .user:
      "\(title) already has a secret; to add another one, use --label; to change it, revoke it first, then add it again"
    case .nameTaken: "\(title) already has a secret; to change it, revoke it first, then add it again"
    case .labelTaken:
      "\(title) already has a secret '\(credential.label)'; to change it, revoke it first, then add it again"
    case .tooMany: "\(title) has \(Credential.maximumSecrets) secrets, which is the most; revoke one first"
    case .enabled: "\(title) is enabled; --disabled would disable the other secrets, too: martlet credentials disable"
    case .secretTaken: "another \(credential.kind.rawValue) has this secret; each needs its own"
    }
  }

  private static func title(_ kind: Credential.Kind, _ name: String, _ label: String? = nil) -> String {
    (label.map { "secret '\($0)' of " } ?? "") + "\(kind.rawValue) '\(name)'"
  }

  private static func list(
    _ kinds: [Credential.Kind], _ line: CommandLineWords, _ environment: ProcessEnvironment
  ) async throws {
    let configuration = try ClientConfiguration(environment)
    let found = try await configuration.withConnection { connection in
      let (credentials, uses) = (Credentials(connection: connection), LastUses(connection: connection))
      var found: [CredentialReport.Row] = []
      for kind in kinds {
        let listed = try await credentials.list(kind)
        let used = try await uses.read(kind, listed)
        found += listed.map { ($0, used[$0.useKey]) }
      }
      return found
    }
    Console.print(line.has("json") ? CredentialReport.json(found) : CredentialReport.table(found))
  }

  private static func change(_ words: CredentialWords, _ verb: String, _ environment: ProcessEnvironment) async throws {
    let configuration = try ClientConfiguration(environment)
    let (isFound, isLastOperator): (Bool, Bool) = try await configuration.withConnection { connection in
      let control = control(connection)
      guard verb == "revoke" else {
        return (try await control.setEnabled(verb == "enable", words.kind, words.name), false)
      }
      let isFound = try await control.revoke(words.kind, words.name, label: words.label)
      guard words.kind == .operator else { return (isFound, false) }
      return (isFound, try await Credentials(connection: connection).operatorPresence() == .revoked)
    }
    guard isFound else {
      throw CommandError.failed(
        "there is no \(title(words.kind, words.name, words.label)); martlet credentials list shows all")
    }
    Console.print("\(verb)d \(title(words.kind, words.name, words.label))\n")
    guard isLastOperator else { return }
    Console.complain(
      "No operator is left: the dashboard refuses everybody. Add one: martlet credentials add operator NAME --role admin\n"
    )
  }

  @EventLoop private static func control(_ connection: RedisClient) -> CredentialControl {
    CredentialControl(Credentials(connection: connection), Registry(connection: connection, log: .silent))
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

/// A line names at most ``AppBinding/maximumApps`` bundle ids.
private let maximumLineBytes = 32 * 1024

extension CredentialsCommand {
  /// Lines that are added in one exchange with Redis.
  private static let linesOfBatch = 500

  /// A line of stdin.
  private struct UserLine {
    let number: Int
    let secret: String
    let addition: Result<Credential, UserLineError>

    init(_ bytes: [UInt8], number: Int, now: Int64) {
      self.number = number
      let secret = Credential.randomSecret()
      self.secret = secret
      addition = Result { () throws(UserLineError) in try Credential(userLine: bytes, secret: secret, now: now) }
    }

    func failed(_ name: String?, _ error: String) -> String {
      let object: JSONObject = ["line": number, "name": name, "error": error]
      return object.line
    }
  }

  /// Adds the users of stdin, and prints a line for each in their order.
  static func addUsers(_ line: CommandLineWords, _ environment: ProcessEnvironment) async throws -> ExitCode {
    guard line.arguments[1] == "-" else {
      throw CommandError.usage("add users takes only -: the users are read from stdin, a JSON object per line")
    }
    try line.refuse(CredentialWords.settings.map(\.name) + ["label"], "is for one credential")
    return try await ClientConfiguration(environment).withConnection { connection in
      let credentials = Credentials(connection: connection)
      var exit = ExitCode.done
      var batch: [UserLine] = []
      for (number, bytes) in Console.filledLines(maximumBytes: maximumLineBytes) {
        batch.append(UserLine(bytes, number: number, now: Clock.unixMilliseconds))
        guard batch.count == linesOfBatch else { continue }
        if try await !add(batch, credentials) { exit = .failed }
        batch = []
      }
      if try await !add(batch, credentials) { exit = .failed }
      return exit
    }
  }

  /// Returns false if a line was not added.
  @EventLoop
  private static func add(_ lines: [UserLine], _ credentials: Credentials) async throws -> Bool {
    let valid = lines.compactMap { try? $0.addition.get() }
    var conflicts: ArraySlice<Credentials.Conflict?>
    do throws(RedisError) { conflicts = try await credentials.add(valid, of: .user)[...] } catch {
      let reason = "Redis: \(error); if martlet credentials list shows the secret, revoke it and add it again"
      Console.print(lines.map { $0.failed((try? $0.addition.get())?.name, reason) }.joined())
      throw error
    }
    var areAdded = true
    var report = ""
    for line in lines {
      switch line.addition {
      case .failure(let error):
        areAdded = false
        report += line.failed(error.name, error.reason)
      case .success(let credential):
        if let conflict = conflicts.removeFirst() {
          areAdded = false
          report += line.failed(credential.name, reason(conflict, credential))
        } else {
          let object: JSONObject = ["name": credential.name, "label": credential.label, "secret": line.secret]
          report += object.line
        }
      }
    }
    Console.print(report)
    return areAdded
  }
}

/// Why a line of stdin is not a user.
private struct UserLineError: Error {
  /// As the line has it; nil if it has none.
  let name: String?
  let reason: String

  init(name: String?, _ faults: [InvalidValue]) {
    self.name = name
    reason = faults.map(\.description).joined(separator: "; ")
  }
}

extension Credential {
  /// Reads `{"name","label","apps"}`.
  fileprivate init(userLine bytes: [UInt8], secret: String, now: Int64) throws(UserLineError) {
    guard bytes.count <= maximumLineBytes else {
      let expected = "at most \(maximumLineBytes) bytes"
      throw UserLineError(name: nil, [InvalidValue(seen: "a longer line", expected: expected)])
    }
    var reader = JSONFieldReader()
    let line = reader.object(parsing: bytes, names: ["name", "label", "apps"], expected: "an object")
    let given = line?["name"]?.string
    guard let line, reader.require(line, "name") else { throw UserLineError(name: given, reader.faults) }
    let name = reader.text(line, "name", expected: Credential.expectedName(of: .user)) {
      Credential.normalized($0, of: .user) != nil
    }.flatMap { Credential.normalized($0, of: .user) }
    if let name, let fault = CredentialWords.fault(ofNew: name, .user) {
      reader.report("name", seen: fault, expected: Credential.expectedName(of: .user))
    }
    let label = reader.text(line, "label", expected: Credential.expectedLabel, where: Credential.isLabel)
    let apps = reader.list(line, "apps", count: 1...AppBinding.maximumApps).compactMap {
      reader.text($0, expected: Charset.bundleID.description, where: BundleID.isWellFormed)
    }
    guard let name, reader.faults.isEmpty else { throw UserLineError(name: given, reader.faults) }
    self.init(
      kind: .user, name: name, label: label ?? Credential.defaultLabel, digest: Credential.digest(of: secret),
      createdAt: now, apps: AppBinding(Set(apps)))
  }
}

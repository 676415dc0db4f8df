import Credentials
import EventLoop
import JSON
import PushModel
import Redis

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
  static func addUsers(_ line: CommandLineWords) async throws -> ExitCode {
    guard line.positional.count == 3, line.positional[2] == "-" else {
      throw CommandError.usage("add users takes only -: the users are read from stdin, a JSON object per line")
    }
    try line.refuse(CredentialWords.options, "is for one credential")
    return try await ClientConfiguration().withConnection { connection in
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

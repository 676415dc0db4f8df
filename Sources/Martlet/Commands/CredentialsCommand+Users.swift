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
}

extension Credential {
  private static let members = ["name", "label", "apps"]

  /// Reads `{"name","label","apps"}`.
  fileprivate init(userLine bytes: [UInt8], secret: String, now: Int64) throws(UserLineError) {
    guard bytes.count <= maximumLineBytes else {
      throw UserLineError(name: nil, reason: "larger than \(maximumLineBytes) bytes")
    }
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch { throw UserLineError(name: nil, reason: "not JSON: \(error)") }
    guard let members = value.members else { throw UserLineError(name: nil, reason: "not a JSON object") }
    let given = value["name"]?.string
    if let unknown = members.first(where: { !Credential.members.contains($0.key) }) {
      throw UserLineError(name: given, reason: "unknown member '\(unknown.key)'; expected name, label, apps")
    }
    guard let name = given.flatMap({ Credential.normalized($0, of: .user) }) else {
      throw UserLineError(name: given, reason: "name: expected \(Credential.expectedName(of: .user))")
    }
    if let fault = CredentialWords.fault(ofNew: name, .user) {
      throw UserLineError(name: name, reason: "name: \(fault)")
    }
    guard let label = value["label"].map(\.string) ?? Credential.defaultLabel, Credential.isLabel(label) else {
      throw UserLineError(name: name, reason: "label: expected \(Credential.expectedLabel)")
    }
    let apps = value["apps"].map { $0.array?.map(\.string) } ?? []
    guard let apps, apps.count <= AppBinding.maximumApps, value["apps"] == nil || !apps.isEmpty,
      apps.allSatisfy({ $0.map(BundleID.isWellFormed) == true })
    else {
      throw UserLineError(name: name, reason: "apps: expected 1 to \(AppBinding.maximumApps) bundle ids")
    }
    self.init(
      kind: .user, name: name, label: label, digest: Credential.digest(of: secret), createdAt: now,
      apps: AppBinding(Set(apps.compactMap(\.self))))
  }
}

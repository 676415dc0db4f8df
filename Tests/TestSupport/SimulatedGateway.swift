import Foundation

/// A running `apns-simulator` and its control port; ends with the test process.
public final class SimulatedGateway: Sendable {
  public let process: ChildProcess
  public let ready: Ready
  private let initialStreams: Int
  /// Keeps the directory for as long as the process.
  private let directoryOwner: TemporaryDirectory

  /// It does what is recorded of Apple's gateway. `arguments` are the simulator's own, after the defaults. `initialStreams`: how many a connection may have open
  /// before its first valid provider token.
  /// Without `isLikeApple` a client may have a new provider token for each push.
  public init(_ arguments: [String] = [], initialStreams: Int = 1, isLikeApple: Bool = true) async throws {
    self.initialStreams = initialStreams
    directoryOwner = try TemporaryDirectory()
    process = try ChildProcess(
      try builtProduct("apns-simulator"),
      (isLikeApple ? ["--apple"] : []) + ["--dir", directoryOwner.path, "--initial-streams", "\(initialStreams)"]
        + arguments)
    let line = try await process.line("its ready line") { $0.hasPrefix("{") && $0.contains("\"ready\":true") }
    ready = try JSONDecoder().decode(Ready.self, from: Data(line.utf8))
  }

  public var directory: String { directoryOwner.path }

  /// What a worker needs to send there: the provider key, the origin, the certificate authority.
  public var environment: [String: String] {
    var environment = [
      "APNS_KEY_ID": ready.keyId, "APNS_TEAM_ID": ready.teamId, "APNS_BUNDLE_ID": "com.example.demo",
      "APNS_ENDPOINT_OVERRIDE": ready.url, "APNS_CA_CERT": ready.caCertificate,
    ]
    environment["APNS_KEY_PATH"] = ready.keyPath
    return environment
  }

  /// Resets all faults, rules and settings, and empties the ledger.
  public func reset() async throws {
    try await clearFaults()
    try await clearDevices()
    try await control("/keys", "-X", "DELETE")
    try await settings(
      #"{"rttMs":0,"maxStreams":1000,"initialStreams":\#(initialStreams),"tokenUpdateSeconds":0,"topics":[]}"#)
    try await control("/ledger/reset", "-X", "POST")
  }

  /// Sends a request to the control port with curl. Throws for an error status.
  @discardableResult
  public func control(_ path: String, _ arguments: String...) async throws -> String {
    try await ChildProcess.run(
      "curl", ["-sS", "--fail-with-body"] + arguments + [ready.control + path])
  }

  public func fault(_ json: String) async throws {
    try await control("/faults", "-d", json)
  }

  public func clearFaults() async throws {
    try await control("/faults", "-X", "DELETE")
  }

  public func settings(_ json: String) async throws {
    try await control("/settings", "-d", json)
  }

  /// `rule`: the fields beside `token`, as JSON members.
  public func device(_ token: String, _ rule: String) async throws {
    try await control("/devices", "-d", #"{"token":"\#(token)",\#(rule)}"#)
  }

  /// Makes a provider key that the gateway accepts, and returns its file. `topics` belong to the team from then on.
  @discardableResult
  public func addKey(_ id: String, of team: String, topics: [String] = []) async throws -> String {
    let path = "\(directory)/AuthKey_\(id).p8"
    try await ChildProcess.run(
      "openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path])
    let names = topics.map { "\"\($0)\"" }.joined(separator: ",")
    try await control("/keys", "-d", #"{"keyId":"\#(id)","teamId":"\#(team)","path":"\#(path)","topics":[\#(names)]}"#)
    return path
  }

  /// Limits a key to an environment, or to some bundle ids.
  public func restrictKey(_ id: String, environment: String? = nil, onlyBundleIDs: [String] = []) async throws {
    let names = onlyBundleIDs.map { "\"\($0)\"" }.joined(separator: ",")
    let members =
      (environment.map { #","environment":"\#($0)""# } ?? "") + (names.isEmpty ? "" : #","onlyBundleIds":[\#(names)]"#)
    try await control("/keys", "-d", #"{"keyId":"\#(id)"\#(members)}"#)
  }

  /// Refuses the tokens of a key, or accepts them again.
  public func revokeKey(_ id: String, _ isRevoked: Bool = true) async throws {
    try await control("/keys", "-d", #"{"keyId":"\#(id)","revoked":\#(isRevoked)}"#)
  }

  public func clearDevices() async throws {
    try await control("/devices", "-X", "DELETE")
  }

  public func closeConnections() async throws {
    try await control("/connections/close", "-X", "POST")
  }

  public func ledger() async throws -> GatewayLedger {
    try JSONDecoder().decode(GatewayLedger.self, from: Data(try await control("/ledger").utf8))
  }

  /// The latest pushes, at most `count`, refused ones among them, oldest first.
  public func recent(_ count: Int = 1000) async throws -> [GatewayLedger.Push] {
    let latest = try await control("/ledger/recent?n=\(count)")
    return try JSONDecoder().decode([GatewayLedger.Push].self, from: Data(latest.utf8)).reversed()
  }

  /// How often each apns-id was received.
  public func counts() async throws -> [String: Int] {
    let lines = try await control("/ledger/ids").split(separator: "\n")
    return Dictionary(
      lines.map { line in
        let words = line.split(separator: " ")
        return (String(words[0]), Int(words[1]) ?? 0)
      }, uniquingKeysWith: +)
  }
}

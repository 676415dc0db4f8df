import Foundation
public import Glibc

/// A real redis-server with its own directory and unix socket; persistence is off unless asked for.
///
/// One per suite: `static let server = Task { try await RedisServer() }`, then `try await Self.server.value` in each
/// test. A running server ends with the test process.
public final class RedisServer: Sendable {
  /// The program: `redis-server`, or what `Tests/Engines/run` names in MARTLET_TEST_REDIS.
  public static let program = ProcessInfo.processInfo.environment["MARTLET_TEST_REDIS"] ?? "redis-server"

  /// Whether the program is not Debian's.
  public static let isOtherEngine = ProcessInfo.processInfo.environment["MARTLET_TEST_REDIS"] != nil

  /// Whether the program was built with TLS.
  public static func hasTLS() async throws -> Bool {
    try await ChildProcess.run(
      "sh", ["-c", "grep -qc SSL_CTX_new \"$(command -v \"$1\")\" && echo yes || echo no", "sh", program]) == "yes"
  }

  /// The program's own version, for example `[7, 0]`.
  public static func version() async throws -> [Int] {
    let line = try await ChildProcess.run(program, ["--version"])
    let number = line.split(separator: " ").first { $0.hasPrefix("v=") }?.dropFirst(2) ?? ""
    return number.split(separator: ".").prefix(2).compactMap { Int($0) }
  }

  private let directoryOwner: TemporaryDirectory
  private let arguments: [String]
  private let child: Locked<ChildProcess>
  /// Nil unless the tests run against a cluster.
  private let cluster: RedisCluster?

  /// Whether the environment asks for a cluster in place of each plain server, one that no test has arguments for.
  public static let isCluster = ProcessInfo.processInfo.environment["MARTLET_TEST_CLUSTER"] == "1"

  /// Nil unless TCP was asked for.
  public let port: Int?

  /// `arguments` are redis-server's own, after the defaults (`["--appendonly", "yes"]`). `tcp` listens on a free port
  /// of 127.0.0.1 too. A server with a password needs it in `password` to be asked whether it is up.
  public init(_ arguments: [String] = [], tcp: Bool = false, password: String? = nil) async throws {
    directoryOwner = try TemporaryDirectory()
    port = tcp ? try freePort() : nil
    let path = directoryOwner.path
    self.arguments =
      [
        "--port", String(port ?? 0), "--bind", "127.0.0.1", "--unixsocket", "\(path)/redis.sock", "--dir", path,
        "--save", "", "--appendonly", "no", "--daemonize", "no",
      ] + (password.map { ["--requirepass", $0] } ?? []) + arguments
    self.password = password
    let isPlain = arguments.isEmpty && !tcp && password == nil
    cluster = RedisServer.isCluster && isPlain ? try await RedisCluster(replicas: 0) : nil
    child = Locked(try ChildProcess(RedisServer.program, self.arguments))
    try await awaitPong()
  }

  /// Stands for a cluster. Only ``url`` and ``redisCLI(_:)`` are to be used.
  public init(_ cluster: RedisCluster) throws {
    directoryOwner = try TemporaryDirectory()
    (port, arguments, password) = (nil, [], nil)
    child = Locked(try ChildProcess("true"))
    self.cluster = cluster
  }

  public let password: String?
  public var directory: String { directoryOwner.path }
  public var socketPath: String { "\(directory)/redis.sock" }
  public var pid: pid_t { child.withLock(\.pid) }

  /// For REDIS_URL; over the unix socket.
  public var url: String { cluster?.url ?? "unix://\(password.map { ":\($0)@" } ?? "")\(socketPath)" }

  /// What the server logged since it was last started.
  public var lines: [String] { child.withLock(\.lines) }

  /// Ends the server and removes its directory.
  public func stop() async throws {
    try await kill(SIGKILL)
    try await cluster?.stop()
    directoryOwner.remove()
  }

  /// Sends a signal; after one that ends a process (KILL, TERM, INT) waits until it has ended. The directory stays.
  public func kill(_ signal: Int32 = SIGKILL) async throws {
    let child = child.withLock { $0 }
    child.signal(signal)
    if [SIGKILL, SIGTERM, SIGINT].contains(signal) { try await child.exit() }
  }

  /// Starts it again on the same directory, socket and port; ends it before if it runs.
  public func restart() async throws {
    try await kill(SIGKILL)
    let fresh = try ChildProcess(RedisServer.program, arguments)
    child.withLock { $0 = fresh }
    try await awaitPong()
  }

  /// What redis-cli prints for a command (in its raw form, lines joined by a line end).
  @discardableResult
  public func redisCLI(_ words: String...) async throws -> String {
    try await redisCLI(words)
  }

  @discardableResult
  public func redisCLI(_ words: [String]) async throws -> String {
    if let cluster { return try await cluster.redisCLI(words) }
    return try await ChildProcess.run(
      "redis-cli", ["-s", socketPath, "--raw"] + words, environment: password.map { ["REDISCLI_AUTH": $0] } ?? [:])
  }

  private func awaitPong() async throws {
    let child = child.withLock { $0 }
    try await eventually("redis-server answers PING") {
      guard child.isRunning else { throw TestTimeout("redis-server ended:\n\(child.lines.joined(separator: "\n"))") }
      guard FileManager.default.fileExists(atPath: socketPath) else { return false }
      return (try? await redisCLI("PING")) == "PONG"
    }
  }
}

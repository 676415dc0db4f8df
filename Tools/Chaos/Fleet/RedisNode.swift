import EventLoop
import Glibc
import TestSupport

/// A redis-server that writes each command to disk before it replies.
@EventLoop
final class RedisNode {
  let port: Int
  let directory: String
  private var process: ChildProcess?
  /// What earlier processes have logged.
  private var log: [String] = []

  init(directory: String) throws {
    self.directory = directory
    port = try freePort()
  }

  var lines: [String] { log + (process?.lines ?? []) }

  /// Starts it on its data, as a replica of `master` or as a master.
  func start(replicaOf master: Int? = nil) async throws {
    if let process { log += process.lines }
    let role = master.map { ["--replicaof", "127.0.0.1", String($0)] } ?? []
    process = try ChildProcess("redis-server", RedisNode.arguments(port: port, directory: directory) + role)
    try await eventually("redis-server on port \(port) answers") {
      (try? await command("PING")) == "PONG"
    }
  }

  func kill() async throws {
    process?.signal(SIGKILL)
    try await process?.exit()
  }

  /// What redis-cli prints. Throws if it fails.
  @discardableResult
  func command(_ words: String...) async throws -> String { try await command(words) }

  @discardableResult
  func command(_ words: [String]) async throws -> String {
    try await ChildProcess.run("redis-cli", ["-h", "127.0.0.1", "-p", String(port), "--raw"] + words)
  }

  /// A field of INFO replication.
  func replication(_ field: String) async throws -> String? {
    let lines = try await command("INFO", "replication").split(whereSeparator: \.isNewline)
    return lines.first { $0.hasPrefix("\(field):") }.map { String($0.dropFirst(field.count + 1)) }
  }

  private static func arguments(port: Int, directory: String) -> [String] {
    [
      "--port", String(port), "--bind", "127.0.0.1", "--dir", directory, "--save", "", "--appendonly", "yes",
      "--appendfsync", "always", "--maxmemory-policy", "noeviction", "--enable-debug-command", "local",
      "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0",
    ]
  }
}

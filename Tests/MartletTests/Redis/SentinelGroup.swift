import EventLoop
import Foundation
import Redis
import TestSupport

/// A master, its replica, and three sentinels that fail over within seconds.
final class SentinelGroup: Sendable {
  private static let name = "main"
  let master: RedisServer
  let replica: RedisServer
  private let sentinels: [ChildProcess]
  private let ports: [Int]
  private let directory: TemporaryDirectory

  init() async throws {
    directory = try TemporaryDirectory()
    // Without a replica that follows, the master refuses writes.
    let safe = ["--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"]
    master = try await RedisServer(safe, tcp: true)
    replica = try await RedisServer(["--replicaof", "127.0.0.1", String(master.port ?? 0)], tcp: true)
    ports = try (0..<3).map { _ in try freePort() }
    var started: [ChildProcess] = []
    for (index, port) in ports.enumerated() {
      let path = "\(directory.path)/sentinel-\(index).conf"
      let configuration = """
        port \(port)
        bind 127.0.0.1
        dir \(directory.path)
        sentinel monitor \(SentinelGroup.name) 127.0.0.1 \(master.port ?? 0) 2
        sentinel down-after-milliseconds \(SentinelGroup.name) 1000
        sentinel failover-timeout \(SentinelGroup.name) 3000

        """
      try configuration.write(toFile: path, atomically: true, encoding: .utf8)
      started.append(try ChildProcess("redis-sentinel", [path]))
    }
    sentinels = started
    try await awaitReady()
  }

  /// For REDIS_URL.
  var url: String {
    "redis+sentinel://\(ports.map { "127.0.0.1:\($0)" }.joined(separator: ","))/\(SentinelGroup.name)"
  }

  /// Waits until every sentinel calls the replica the master.
  func awaitFailover() async throws {
    try await eventually("the replica is the master") {
      for port in ports {
        guard let answer = try? await ask(port, "GET-MASTER-ADDR-BY-NAME"), answer.hasSuffix("\(replica.port ?? 0)")
        else { return false }
      }
      return true
    }
  }

  func stop() async throws {
    for sentinel in sentinels { try await sentinel.stop() }
    for server in [master, replica] { try await server.stop() }
  }

  private func awaitReady() async throws {
    try await eventually("the replica follows") {
      try await master.redisCLI("INFO", "replication").contains("state=online")
    }
    try await eventually("the sentinels know the replica and each other") {
      for port in ports {
        guard let replicas = try? await ask(port, "REPLICAS"), replicas.contains("127.0.0.1:\(replica.port ?? 0)"),
          let quorum = try? await ask(port, "CKQUORUM"), quorum.hasPrefix("OK 3")
        else { return false }
      }
      return true
    }
  }

  private func ask(_ port: Int, _ command: String) async throws -> String {
    try await ChildProcess.run("redis-cli", ["-p", String(port), "--raw", "SENTINEL", command, SentinelGroup.name])
  }
}

import EventLoop
import FoundationEssentials
import TestSupport

/// A master, its replica, and three sentinels, which fail over only when they are asked to.
@EventLoop
final class RedisGroup: RedisServers {
  static let masterName = "main"
  /// Longer than any run: a master that is only slow or restarted stays the master.
  private static let patience = "3600000"
  private static let impatience = "500"
  /// The maximum time for which writes are refused while the replica catches up.
  private static let pause = "20000"

  private let nodes: [RedisNode]
  private var sentinels: [ChildProcess] = []
  private let ports: [Int]
  private var master = 0

  init(directory: String) async throws {
    nodes = try (0..<2).map { index in
      let place = "\(directory)/redis-\(index)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      return try RedisNode(directory: place)
    }
    ports = try (0..<3).map { _ in try freePort() }
    try await nodes[0].start()
    try await nodes[1].start(replicaOf: nodes[0].port)
    for (index, port) in ports.enumerated() {
      let path = "\(directory)/sentinel-\(index).conf"
      try sentinelConfiguration(port: port, directory: directory).write(
        toFile: path, atomically: true, encoding: .utf8)
      sentinels.append(try ChildProcess("redis-sentinel", [path]))
    }
    try await ready()
  }

  private var primary: RedisNode { nodes[master] }
  var masterPort: Int? { primary.port }

  var url: String {
    "redis+sentinel://\(ports.map { "127.0.0.1:\($0)" }.joined(separator: ","))/\(RedisGroup.masterName)"
  }

  var logs: [(name: String, lines: [String])] {
    nodes.enumerated().map { ("redis-\($0.offset)", $0.element.lines) }
      + sentinels.enumerated().map { ("sentinel-\($0.offset)", $0.element.lines) }
  }

  func command(_ words: String..., for step: Step) async throws { try await primary.command(words) }

  func injectOwn(_ step: Step, for duration: Duration) async throws {
    precondition(step.kind == .redisFailover, "\(step.kind) is not a fault of Redis with sentinels")
    try await failOver()
  }

  func restart(for step: Step) async throws {
    try await primary.kill()
    try await primary.start()
  }

  /// Kills the master, and returns when the sentinels have made the replica the master.
  ///
  /// Replication is asynchronous: a write that was confirmed may be missing in a replica. So writes are paused until
  /// the replica has all of them. This is what an operator does in a planned failover.
  private func failOver() async throws {
    let (old, new) = (nodes[master], nodes[1 - master])
    try await ready()
    try await old.command("CLIENT", "PAUSE", RedisGroup.pause, "WRITE")
    try await eventually("the replica has every write") {
      let offset = try await old.replication("master_repl_offset")
      return try await new.replication("slave_repl_offset") == offset
    }
    try await setPatience(RedisGroup.impatience)
    try await old.kill()
    try await eventually("the sentinels make the replica the master") {
      for port in ports where try await masterPort(accordingTo: port) != new.port { return false }
      return try await new.replication("role") == "master"
    }
    master = 1 - master
    try await setPatience(RedisGroup.patience)
    try await old.start(replicaOf: new.port)
  }

  /// Waits until the replica follows and the sentinels know it.
  private func ready() async throws {
    let replica = nodes[1 - master]
    try await eventually("the replica follows") {
      try await replica.replication("master_link_status") == "up"
    }
    try await eventually("the sentinels know master, replica and each other") {
      for port in ports {
        guard let replicas = try? await sentinel(port, "REPLICAS"), replicas.contains("127.0.0.1:\(replica.port)"),
          !replicas.contains("s_down"),
          !replicas.contains("disconnected"), replicas.contains("master-link-status\nok"),
          try await sentinel(port, "CKQUORUM").hasPrefix("OK 3")
        else { return false }
      }
      return true
    }
  }

  private func setPatience(_ milliseconds: String) async throws {
    for port in ports { _ = try await sentinel(port, "SET", "down-after-milliseconds", milliseconds) }
  }

  private func masterPort(accordingTo port: Int) async throws -> Int? {
    try await sentinel(port, "GET-MASTER-ADDR-BY-NAME").split(separator: "\n").last.flatMap { Int($0) }
  }

  private func sentinel(_ port: Int, _ command: String, _ words: String...) async throws -> String {
    try await ChildProcess.run(
      "redis-cli", ["-p", String(port), "--raw", "SENTINEL", command, RedisGroup.masterName] + words)
  }

  private func sentinelConfiguration(port: Int, directory: String) -> String {
    let name = RedisGroup.masterName
    return """
      port \(port)
      bind 127.0.0.1
      dir \(directory)
      sentinel monitor \(name) 127.0.0.1 \(nodes[0].port) 2
      sentinel down-after-milliseconds \(name) \(RedisGroup.patience)
      sentinel failover-timeout \(name) 3000

      """
  }
}

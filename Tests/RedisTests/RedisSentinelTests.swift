import EventLoop
import Foundation
import TestSupport
import Testing

@testable import Redis

@EventLoop
struct RedisSentinelTests {
  /// A master, a replica of it, and a sentinel that watches both.
  private struct Fixture: Sendable {
    let master: RedisServer
    let replica: RedisServer
    let sentinel: ChildProcess
    let port: Int
    private let directory: TemporaryDirectory

    init() async throws {
      master = try await RedisServer(tcp: true)
      let masterPort = try #require(master.port)
      replica = try await RedisServer(["--replicaof", "127.0.0.1", String(masterPort)], tcp: true)
      directory = try TemporaryDirectory()
      port = try freePort()
      let configuration = """
        port \(port)
        dir \(directory.path)
        sentinel monitor main 127.0.0.1 \(masterPort) 1
        sentinel down-after-milliseconds main 600000
        sentinel failover-timeout main 2000

        """
      let path = "\(directory.path)/sentinel.conf"
      try configuration.write(toFile: path, atomically: true, encoding: .utf8)
      sentinel = try ChildProcess("redis-sentinel", [path])
      let (master, port) = (master, port)
      try await eventually("the replica follows") {
        try await master.redisCLI("INFO", "replication").contains("state=online")
      }
      try await eventually("the sentinel knows the replica") {
        let replicas = try? await ChildProcess.run(
          "redis-cli", ["-p", String(port), "--raw", "SENTINEL", "REPLICAS", "main"])
        return replicas?.contains("127.0.0.1:") == true
      }
    }
  }

  @Test func `the master is found through a sentinel that answers, and again after a failover`() async throws {
    let fixture = try await Fixture()
    let dead = try freePort()
    let url = "redis+sentinel://127.0.0.1:\(dead),127.0.0.1:\(fixture.port)/main/1"
    let connection = try await RedisConnection.ready(url)
    #expect(try await port(of: connection) == fixture.master.port)
    _ = try await ChildProcess.run(
      "redis-cli", ["-p", "\(fixture.port)", "SENTINEL", "SET", "main", "down-after-milliseconds", "500"])
    try await fixture.master.kill()
    try await eventually("the replica is master and found") { connection.reconnects == 1 }
    #expect(try await port(of: connection) == fixture.replica.port)
    _ = try await connection.send(RedisCommand("SET", "k", "v"))
    try await fixture.sentinel.stop()
  }

  @Test func `a name that no sentinel knows is reported`() async throws {
    let directory = try TemporaryDirectory()
    let port = try freePort()
    try "port \(port)\ndir \(directory.path)\n".write(
      toFile: "\(directory.path)/s.conf", atomically: true, encoding: .utf8)
    let sentinel = try ChildProcess("redis-sentinel", ["\(directory.path)/s.conf"])
    let connection = try RedisConnection.started("redis+sentinel://127.0.0.1:\(port)/nobody")
    _ = try await connection.refusal(containing: "knows no master nobody")
    connection.close()
    try await sentinel.stop()
  }

  @Test func `a reply that is not an address is refused`() {
    #expect(Sentinel.address([.bytes(Array("10.0.0.1".utf8)), .bytes(Array("6379".utf8))])?.summary == "10.0.0.1:6379")
    for (host, port) in [
      ("", "1"), ("a\0", "1"), (String(repeating: "a", count: 256), "1"), ("a", "0"), ("a", "65536"), ("a", "x"),
    ] {
      #expect(Sentinel.address([.bytes(Array(host.utf8)), .bytes(Array(port.utf8))]) == nil)
    }
    #expect(Sentinel.address([]) == nil)
    #expect(Sentinel.address([.null, .integer(1)]) == nil)
  }

  private func port(of connection: RedisConnection) async throws -> Int? {
    try await connection.send(RedisCommand("CONFIG", "GET", "port")).array?.last?.string.flatMap { Int($0) }
  }
}

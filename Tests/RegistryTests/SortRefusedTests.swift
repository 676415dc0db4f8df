import EventLoop
import Redis
import RegistrySupport
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import Registry

/// A Redis that does not read a set together with the metadata of its entries.
@EventLoop
struct SortRefusedTests {
  @Test(arguments: ["+@all ~push:*", "+@all -sort ~*"])
  func `devices are found without SORT, and one log line says so`(rules: String) async throws {
    let server = try await RedisServer()
    let lines = Mutex<[String]>([])
    let log = Log(level: .info, isText: false) { line in lines.withLock { $0.append(line) } }
    let fixture = try await Fixture(server: server)
    let tokens = [fixture.token("unsorted-1"), fixture.token("unsorted-2")]
    for token in tokens { _ = try await fixture.register(token, "unsorted") }
    try await server.redisCLI(
      ["ACL", "SETUSER", "limited", "on", ">secret"] + rules.split(separator: " ").map(String.init))
    let url = "unix://limited:secret@\(server.socketPath)"
    let redis = RedisClient(endpoint: try RedisEndpoint(url: url), name: "test", timeout: patience, log: .silent)
    defer { redis.close() }
    redis.start()
    try await redis.ready(within: patience)
    let registry = Registry(connection: redis, sorts: true, log: log)
    for _ in 0..<3 {
      let resolutions = await withCheckedContinuation { continuation in
        registry.resolve([.user("unsorted"), .user("nobody"), .user("unsorted")]) { continuation.resume(returning: $0) }
      }
      #expect(Set(resolutions[0].devices.map(\.token)) == Set(tokens))
      #expect(resolutions[1] == Resolution())
      #expect(resolutions[2] == resolutions[0])
    }
    let said = lines.withLock { $0 }
    // Redis 6.2 checks only the keys that a command names.
    let isRefused = try await RedisServer.version().first ?? 0 >= 7 || rules.contains("-sort")
    #expect(said.count == (isRefused ? 1 : 0))
    #expect(said.allSatisfy { $0.contains("refuses SORT") })
    try await server.stop()
  }
}

import EventLoop
import Redis
import RedisSupport
import RegistrySupport
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
    let lines = LogLines()
    let fixture = try await Fixture(server: server)
    let tokens = [fixture.token("unsorted-1"), fixture.token("unsorted-2")]
    for token in tokens { _ = try await fixture.register(token, "unsorted") }
    try await server.redisCLI(
      ["ACL", "SETUSER", "limited", "on", ">secret"] + rules.split(separator: " ").map(String.init))
    let url = "unix://limited:secret@\(server.socketPath)"
    let redis = try await RedisClient.connected(to: url)
    defer { redis.close() }
    let registry = Registry(connection: redis, sorts: true, log: lines.log(level: .info))
    for _ in 0..<3 {
      let resolutions = await withCheckedContinuation { continuation in
        registry.resolve([.user("unsorted"), .user("nobody"), .user("unsorted")]) { continuation.resume(returning: $0) }
      }
      #expect(Set(resolutions[0].devices.map(\.token)) == Set(tokens))
      #expect(resolutions[1] == Resolution())
      #expect(resolutions[2] == resolutions[0])
    }
    let said = lines.lines
    // Redis 6.2 checks only the keys that a command names.
    let isRefused = try await RedisServer.version().first ?? 0 >= 7 || rules.contains("-sort")
    #expect(said.count == (isRefused ? 1 : 0))
    #expect(said.allSatisfy { $0.contains("refuses SORT") })
    try await server.stop()
  }
}

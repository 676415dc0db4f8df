import EventLoop
import PushModel
import Redis
import Registry
import Telemetry
import RegistrySupport
import TestSupport
import Testing

/// A user whose set is larger than any reply, and other users at the same time.
@EventLoop
@Suite(.serialized, .onOneServer) struct LargeSetTests {
  private static let atomicServer = Task { try await RedisServer() }
  private static let steppedServer = Task { try await RedisServer() }
  private static var server: Task<RedisServer, any Error> { Way.current == .atomic ? atomicServer : steppedServer }

  /// One more than half the elements of the largest reply; fewer where each entry takes several commands.
  private static var entries: Int { Way.current == .atomic ? 524_289 : 20_000 }

  /// Makes a user with many entries that are not registered and one device.
  private func fixture(_ user: String, entries: Int? = nil) async throws -> (Fixture, String) {
    let entries = entries ?? Self.entries
    let fixture = try await Fixture(server: try await Self.server.value)
    let script = """
      for i = ARGV[1], ARGV[2] do redis.call('SADD', KEYS[1], string.format('%064x', i)) end
      """
    for start in stride(from: 1, through: entries, by: 50_000) {
      _ = try await fixture.run(
        "EVAL", script, "1", RegistryKeys.userTokens(Username(user)), String(start),
        String(min(start + 49_999, entries)))
    }
    let token = fixture.token("large-\(user)")
    _ = try await fixture.run("SADD", RegistryKeys.userTokens(Username(user)), token)
    let metadata = DeviceMetadata(username: Username(user), platform: .ios, updatedAt: 5, bundleID: "com.large")
    _ = try await fixture.redis.send(RedisCommand("SET", RegistryKeys.token(entry: token)).with(metadata.json()))
    return (fixture, token)
  }

  /// Resolves another user repeatedly until `body` has ended, and returns how often. None may fail.
  private func others(_ fixture: Fixture, while body: @escaping @EventLoop () async throws -> Void) async throws -> Int
  {
    var isDone = false
    let task = Task { @EventLoop in
      defer { isDone = true }
      try await body()
    }
    var count = 0
    while !isDone {
      let token = fixture.token("bystander-\(count % 10)")
      _ = try await fixture.register(token, "bystander", now: Int64(count))
      let resolution = await fixture.registry.resolve(.user("bystander"))
      #expect(resolution.error == nil && resolution.devices.contains { $0.token.text == token })
      count += 1
    }
    try await task.value
    #expect(fixture.redis.reconnects == 0)
    return count
  }

  @Test func `devices of a large set are found and its entries removed while others are served`() async throws {
    let (fixture, token) = try await fixture("large-resolve", entries: min(Self.entries, 100_001))
    let count = try await others(fixture) {
      let tasks = (0..<21).map { _ in
        Task { @EventLoop in await fixture.registry.resolve(.user("large-resolve")) }
      }
      for task in tasks {
        let resolution = await task.value
        #expect(resolution.error == nil)
        #expect(resolution.devices.map(\.token.text) == [token])
      }
    }
    #expect(count > 20)
    #expect(try await fixture.members("large-resolve") == [token])
  }

  @Test func `a batch of queries does not wait for a large set`() async throws {
    let (fixture, token) = try await fixture("large-batch", entries: 3000)
    _ = try await fixture.register(fixture.token("plain"), "plain")
    for _ in 0..<2 {
      let resolutions = await fixture.resolve([.user("large-batch"), .user("plain")])
      #expect(resolutions[0] == Resolution(largeUser: "large-batch"))
      #expect(resolutions[1].devices.map(\.token.text) == [fixture.token("plain")])
    }
    // Several jobs to one user read its set once.
    _ = try await fixture.run("CONFIG", "RESETSTAT")
    let same = await fixture.resolve([.user("plain"), .user("large-batch"), .user("plain"), .user("large-batch")])
    #expect(same[2] == same[0] && same[0].devices.count == 1)
    #expect(same[3] == same[1] && same[1].largeUser == "large-batch")
    #expect(try await fixture.run("INFO", "commandstats").string?.contains("cmdstat_srandmember:calls=1,") == true)
    let resolution = await withCheckedContinuation { continuation in
      fixture.registry.resolveLarge("large-batch") { continuation.resume(returning: $0) }
    }
    #expect(resolution.devices.map(\.token.text) == [token])
    // Not large any more.
    #expect(await fixture.resolve([.user("large-batch")])[0].devices.map(\.token.text) == [token])
  }

  @Test func `a large set is unregistered and counted while others are served`() async throws {
    // Read in parts, and each entry is a change of its own.
    let entries = Way.current == .atomic ? 50_000 : 10_000
    let (fixture, token) = try await fixture("large-unregister", entries: entries)
    var result = Unregistration()
    let count = try await others(fixture) {
      result = try await fixture.registry.unregisterAll(username: "large-unregister")
    }
    #expect(count > 20)
    var expected = Unregistration(entries: entries + 1, metadata: 1)
    expected.hasLookedUp = true
    expected.isSetGone = true
    #expect(result == expected)
    #expect(try await fixture.metadata(token) == nil)
  }

  @Test func `a list and a registration read only a part of a large set`() async throws {
    let (fixture, _) = try await fixture("large-list")
    let page = try await fixture.registry.devices(of: "large-list", after: nil, limit: 1)
    #expect(page.removals.count < 20_000)
    #expect(try await fixture.clean(user: "large-list", page.removals) == page.removals.count)
    let before = try await fixture.run("SCARD", RegistryKeys.userTokens("large-list")).integer ?? 0
    let token = fixture.token("large-list-new")
    _ = try await fixture.register(token, "large-list", now: 9)
    #expect(try await fixture.run("SCARD", RegistryKeys.userTokens("large-list")).integer == before - 299)
    #expect(try await fixture.run("SISMEMBER", RegistryKeys.userTokens("large-list"), token).integer == 1)
    #expect(fixture.redis.reconnects == 0)
  }

  @Test func `a push is sent to 1,000 devices of a user, and one log line reports that there are more`() async throws {
    let lines = LogLines()
    let fixture = try await Fixture(server: try await Self.server.value, log: lines.log(level: .info))
    let script = """
      for i = 1, ARGV[2] do
        local token = string.format('abcd%060x', i)
        redis.call('SADD', KEYS[1], token)
        redis.call('SET', 'push:token:' .. token, '{"username":"' .. ARGV[1] .. '"}')
      end
      """
    for (user, count, expected) in [("owner-1000", 1000, 1000), ("owner-2500", 2500, 1000)] {
      _ = try await fixture.run("EVAL", script, "1", RegistryKeys.userTokens(Username(user)), user, String(count))
      for _ in 0..<3 {
        let resolution = await fixture.registry.resolve(.user(Username(user)))
        #expect(Set(resolution.devices.map(\.token)).count == expected)
        #expect(resolution.devices.count == expected)
        #expect(resolution.removals.isEmpty)
      }
    }
    let said = lines.lines
    #expect(said.count == 1)
    #expect(said.first?.contains("owner-2500") == true)
  }
}

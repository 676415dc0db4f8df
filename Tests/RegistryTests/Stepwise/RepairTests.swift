import EventLoop
import PushModel
import Redis
import RegistrySupport
import Testing

@testable import Registry

/// Changes that a process had begun when it ended.
@EventLoop
struct RepairTests {
  private func journal(_ fixture: Fixture, _ token: String) async throws -> [String] {
    let key = RegistryKeys.journal(shard: AudienceShard.shard(of: token))
    return try await fixture.run("ZRANGE", key, "0", "-1").array?.compactMap(\.string)
      .filter { $0.hasPrefix(token) } ?? []
  }

  @Test(arguments: [Way.stepwise, .cluster])
  func `a device that its owner's set lacks comes back`(way: Way) async throws {
    try await Way.$current.withValue(way) {
      let fixture = try await Fixture()
      let token = fixture.token("repair")
      _ = try await fixture.register(token, "repaired", app: "com.repaired")
      #expect(try await journal(fixture, token).isEmpty)
      _ = try await fixture.run("SREM", RegistryKeys.userTokens("repaired"), token)
      let shard = AudienceShard.shard(of: token)
      _ = try await fixture.run("ZREM", RegistryKeys.audience("com.repaired", shard: shard), token)
      let cluster = try #require(fixture.cluster)
      _ = try await fixture.run("ZADD", RegistryKeys.journal(shard: shard), "5", "\(token) 1")
      #expect(try await cluster.repair(after: 60) >= 1)
      #expect(try await fixture.members("repaired") == [token])
      #expect(try await fixture.audience("com.repaired", of: token))
      #expect(try await journal(fixture, token).isEmpty)
    }
  }

  @Test func `a change that has just begun is left to its process`() async throws {
    try await Way.$current.withValue(.stepwise) {
      let fixture = try await Fixture()
      let token = fixture.token("under-way")
      let cluster = try #require(fixture.cluster)
      let key = RegistryKeys.journal(shard: AudienceShard.shard(of: token))
      _ = try await fixture.redis.send(RegistryScripts.open(journal: key, entry: "\(token) 1", isForced: ""))
      _ = try await cluster.repair(after: 60)
      #expect(try await journal(fixture, token) == ["\(token) 1"])
      #expect(try await cluster.repair(after: 0) >= 1)
      #expect(try await journal(fixture, token).isEmpty)
    }
  }
}

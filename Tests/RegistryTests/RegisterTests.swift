import EventLoop
import PushModel
import Redis
import Registry
import RegistrySupport
import Testing

@EventLoop
@Suite(.inEveryWay)
struct RegisterTests {
  @Test func `a registered device is in its owner's set, its app's audience, and lives a year`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("new")
    #expect(try await fixture.register(token, "new", app: "com.new", now: 1_790_000_000_123) == nil)
    let metadata = try await fixture.metadata(token)
    #expect(
      metadata
        == DeviceMetadata(
          username: "new", platform: .ios, updatedAt: 1_790_000_000_123, bundleID: "com.new",
          createdAt: 1_790_000_000_123))
    #expect(try await fixture.members("new") == [token])
    #expect(try await fixture.audience("com.new", of: token))
    let lifetime = try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer ?? 0
    #expect(lifetime > 31_500_000)
  }

  @Test func `registering again keeps known values and the first time`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("again")
    _ = try await fixture.register(token, "again", app: "com.again", now: 1)
    _ = try await fixture.register(token, "again", now: 2)
    let metadata = try await fixture.metadata(token)
    #expect(metadata?.createdAt == 1)
    #expect(metadata?.updatedAt == 2)
    #expect(metadata?.bundleID == "com.again")
    #expect(try await fixture.audience("com.again", of: token))
  }

  @Test func `a device is removed from its previous owner and app`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("moved")
    _ = try await fixture.register(token, "before", app: "com.before")
    #expect(try await fixture.register(token, "after", app: "com.after") == "before")
    #expect(try await fixture.members("before").isEmpty)
    #expect(try await fixture.members("after") == [token])
    #expect(try await !fixture.audience("com.before", of: token))
    #expect(try await fixture.audience("com.after", of: token))
    #expect(try await fixture.metadata(token)?.username == "after")
  }

  @Test func `one of many users who register a token at once owns it`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("race")
    let users = ["race-1", "race-2", "race-3", "race-4"]
    await withTaskGroup(of: Void.self) { group in
      for user in users {
        // A registration that loses too often throws; only the owner of the token matters.
        group.addTask { _ = try? await fixture.register(token, Username(user), app: "com.\(user)") }
      }
    }
    let owner = try #require(try await fixture.metadata(token)?.username)
    for user in users {
      #expect(try await fixture.members(Username(user)) == (user == owner.text ? [token] : []))
      #expect(try await fixture.audience("com.\(user)", of: token) == (user == owner.text))
    }
  }

  @Test func `unreadable metadata does not stop a registration`() async throws {
    let fixture = try await Fixture()
    for (index, garbage) in ["", "{", "[1]", "null", #"{"username":{},"createdAt":"x"}"#].enumerated() {
      let token = fixture.token("garbage-\(index)")
      _ = try await fixture.run("SET", RegistryKeys.token(entry: token), garbage)
      _ = try await fixture.register(token, "unreadable", now: 4)
      #expect(try await fixture.metadata(token)?.createdAt == 4)
    }
  }

  @Test func `unregistering removes the device only from its owner`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("leaves")
    _ = try await fixture.register(token, "leaver", app: "com.leaves")
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("stranger"), token)
    let foreign = try await fixture.registry.unregister(token: DeviceToken(token), username: "stranger")
    #expect(foreign.entries == 1)
    #expect(foreign.metadata == 0)
    #expect(try await fixture.metadata(token) != nil)
    #expect(try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer ?? 0 > 31_500_000)
    let own = try await fixture.registry.unregister(token: DeviceToken(token), username: "leaver")
    #expect(own.entries == 1)
    #expect(own.metadata == 1)
    #expect(try await fixture.metadata(token) == nil)
    #expect(try await !fixture.audience("com.leaves", of: token))
    let again = try await fixture.registry.unregister(token: DeviceToken(token), username: "leaver")
    #expect(again.entries == 0)
  }

  @Test func `a stale device is removed unless it was registered later or has another owner`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("stale")
    func stale(_ owner: String, _ notAfter: Int64) -> StaleDevice {
      StaleDevice(token: DeviceToken(token), owner: Username(owner), bundleID: "com.stale", notAfter: notAfter)
    }
    _ = try await fixture.register(token, "stale", app: "com.stale", now: 1000)
    #expect(try await fixture.removeStale(stale("stale", 999), stale("other", .max)) == 0)
    #expect(try await fixture.members("stale") == [token])
    #expect(try await fixture.removeStale(stale("stale", 1000), stale("stale", .max)) == 1)
    #expect(try await fixture.metadata(token) == nil)
    #expect(try await fixture.members("stale").isEmpty)
    #expect(try await !fixture.audience("com.stale", of: token))
  }

  @Test func `a stale device whose owner's key has another type is an error`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("stale-odd")
    _ = try await fixture.register(token, "stale-odd", now: 1)
    _ = try await fixture.run("SET", RegistryKeys.userTokens("stale-odd"), "text")
    let error = await #expect(throws: RedisError.self) {
      try await fixture.removeStale(
        StaleDevice(token: DeviceToken(token), owner: "stale-odd", bundleID: nil, notAfter: 9))
    }
    #expect(error?.isWrongType == true)
    _ = try await fixture.run("DEL", RegistryKeys.userTokens("stale-odd"))
  }

  @Test(arguments: ["push:user:odd-%:tokens", "push:app:com.odd-%:tokens:SHARD", "push:user:odd-%-before:tokens"])
  func `a key of another type is an error, and nothing is changed`(pattern: String) async throws {
    let fixture = try await Fixture()
    let name = "\(pattern.utf8.count)"
    let token = fixture.token("odd-\(name)")
    _ = try await fixture.register(token, "odd-\(name)-before", app: "com.odd-\(name)", now: 1)
    let shard = "\(AudienceShard.shard(of: token))"
    let key = pattern.replacing("%", with: name).replacing("SHARD", with: shard)
    _ = try await fixture.run("SET", key, "text")
    let before = try await fixture.metadata(token)
    let error = await #expect(throws: RedisError.self) {
      try await fixture.register(token, "odd-\(name)", app: "com.odd-\(name)", now: 2)
    }
    #expect("\(error.map { "\($0)" } ?? "")".contains("WRONGTYPE \(key) is not a "))
    #expect(try await fixture.metadata(token) == before)
  }
}

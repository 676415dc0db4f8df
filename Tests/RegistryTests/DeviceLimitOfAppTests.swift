import EventLoop
import PushModel
import Redis
import Registry
import RegistrySupport
import TestSupport
import Testing
@testable import Backup

/// The devices of a user are counted in each app, so that no app can remove those of another.
@EventLoop
@Suite(.inEveryWay)
struct DeviceLimitOfAppTests {
  private func tokens(_ name: String, _ count: Int, _ fixture: Fixture) -> [String] {
    (0..<count).map { fixture.token("\(name)-\(1000 + $0)") }
  }

  /// Writes devices without a limit. The first is the oldest, registered at `now`.
  private func fill(
    _ user: String, _ tokens: [String], app: String, now: Int64, _ fixture: Fixture
  ) async throws {
    for (index, token) in tokens.enumerated() {
      let metadata = DeviceMetadata(
        username: Username(user), platform: .ios, updatedAt: now + Int64(index), bundleID: app)
      fixture.redis.send(RedisCommand("SADD", RegistryKeys.userTokens(Username(user)), token)) { _ in }
      fixture.redis.send(RedisCommand("SET", RegistryKeys.token(entry: token)).with(metadata.json())) { _ in }
      let audience = RegistryKeys.audience(app, shard: AudienceShard.shard(of: token))
      fixture.redis.send(RedisCommand("ZADD", audience, "0", token)) { _ in }
    }
    _ = try await fixture.run("PING")
  }

  @Test func `devices of one app never make room for those of another`() async throws {
    let fixture = try await Fixture(maximumDevices: 3)
    let user = "apart"
    let (own, others, bare) = (tokens("own", 2, fixture), tokens("other", 5, fixture), tokens("bare", 4, fixture))
    for token in own { _ = try await fixture.register(token, Username(user), app: "com.apart.a", now: 1) }
    for (index, token) in others.enumerated() {
      _ = try await fixture.register(token, Username(user), app: "com.apart.b", now: Int64(10 + index))
    }
    #expect(try await fixture.members(Username(user)) == Set(own + others.suffix(3)))
    #expect(try await fixture.metadata(others[1]) == nil)
    #expect(try await !fixture.audience("com.apart.b", of: others[1]))
    // Devices without an app count as of one.
    for (index, token) in bare.enumerated() {
      _ = try await fixture.register(token, Username(user), now: Int64(20 + index))
    }
    #expect(try await fixture.members(Username(user)) == Set(own + others.suffix(3) + bare.suffix(3)))
    // An app that is not full takes one more, a full one loses its oldest.
    let (fits, full) = (fixture.token("apart-fits"), fixture.token("apart-full"))
    _ = try await fixture.register(fits, Username(user), app: "com.apart.a", now: 30)
    _ = try await fixture.register(full, Username(user), app: "com.apart.a", now: 31)
    #expect(try await fixture.members(Username(user)) == Set([own[1], fits, full] + others.suffix(3) + bare.suffix(3)))
  }

  @Test func `a device that moves to a full app makes room there`() async throws {
    let fixture = try await Fixture(maximumDevices: 2)
    let (a, b) = (tokens("move-a", 2, fixture), tokens("move-b", 2, fixture))
    for (index, token) in (a + b).enumerated() {
      let app = index < 2 ? "com.move.a" : "com.move.b"
      _ = try await fixture.register(token, "moves", app: app, now: Int64(index + 1))
    }
    _ = try await fixture.register(b[1], "moves", app: "com.move.a", now: 9)
    #expect(try await fixture.members("moves") == [a[1], b[0], b[1]])
    // An exchange keeps the app, and the number of its devices.
    let new = fixture.token("move-new")
    #expect(
      try await fixture.registry.replace(token: DeviceToken(a[1]), with: DeviceToken(new), of: "moves", now: 10)
        != .notFound)
    #expect(try await fixture.members("moves") == [new, b[0], b[1]])
  }

  @Test func `over all apps a user has 1,000 devices, and the app with most of them loses its oldest`() async throws {
    let fixture = try await Fixture(maximumDevices: 600)
    let (many, some) = (tokens("many", 600, fixture), tokens("some", 399, fixture))
    try await fill("crowded", some, app: "com.crowded.b", now: 1, fixture)
    try await fill("crowded", many, app: "com.crowded.a", now: 1000, fixture)
    var new: [String] = []
    for number in 0..<3 {
      new.append(fixture.token("crowded-\(number)"))
      _ = try await fixture.register(new[number], "crowded", app: "com.crowded.\(number)", now: Int64(5000 + number))
    }
    #expect(try await fixture.members("crowded") == Set(some + many.dropFirst(2) + new))
    let resolution = await fixture.registry.resolve(.user("crowded"))
    #expect(resolution.largeUser == nil)
    #expect(resolution.devices.count == 1000)
  }

  @Test func `many concurrent registrations for one app leave it its maximum and another app all of its devices`()
    async throws
  {
    let fixture = try await Fixture(maximumDevices: 10)
    let (others, all) = (tokens("calm", 9, fixture), tokens("storm", 40, fixture))
    for token in others { _ = try await fixture.register(token, "storm", app: "com.storm.b", now: 1) }
    let failures = await withTaskGroup(of: Int.self) { group in
      for (index, token) in all.enumerated() {
        group.addTask {
          do {
            _ = try await fixture.register(token, "storm", app: "com.storm.a", now: Int64(10 + index))
            return 0
          } catch {
            return 1
          }
        }
      }
      var failures = 0
      for await failed in group { failures += failed }
      return failures
    }
    #expect(failures == 0)
    #expect(try await fixture.members("storm").isSuperset(of: others))
    if Way.current == .atomic { #expect(try await fixture.members("storm").count == 19) }
    // On a cluster, those that make room at the same time may count on the same device. The next one takes away what is too much.
    let last = fixture.token("after the storm")
    _ = try await fixture.register(last, "storm", app: "com.storm.a", now: 100)
    let members = try await fixture.members("storm")
    #expect(members.isSuperset(of: others + [last]))
    #expect(members.count == 19)
    for token in all { #expect(try await (fixture.metadata(token) != nil) == members.contains(token)) }
  }

  @Test func `a backup restores the newest devices of each app`() async throws {
    let fixture = try await Fixture(maximumDevices: 3)
    let (a, b) = (tokens("saved-a", 5, fixture), tokens("saved-b", 5, fixture))
    let present = fixture.token("saved-present")
    _ = try await fixture.register(present, "saved", app: "com.saved.a", now: 103)
    let entries = (a + b).enumerated().map { index, token in
      BackupEntry.device(
        token: DeviceToken(token),
        DeviceMetadata(
          username: "saved", platform: .ios, updatedAt: Int64(100 + index),
          bundleID: "com.saved.\(index < 5 ? "a" : "b")"))
    }
    let done = try await fixture.registry.restore(entries)
    #expect(try await fixture.members("saved") == Set([present, a[3], a[4]] + b.suffix(3)))
    #expect(done.total == 10)
    // On a cluster, one may be created before a newer one that makes it leave.
    #expect(Way.current == .atomic ? done.created == 5 : done.created >= 5)
    #expect(try await fixture.registry.restore(entries).created == 0)
    #expect(try await fixture.members("saved") == Set([present, a[3], a[4]] + b.suffix(3)))
  }
}

/// What a registration of a user with devices of many apps costs.
@EventLoop
@Suite(.onOneServer)
struct DeviceLimitCostTests {
  @Test func `a device that is registered again reads no other device`() async throws {
    let server = try await RedisServer()
    let fixture = try await Fixture(maximumDevices: 2, server: server)
    let tokens = (0..<8).map { fixture.token("cost-\($0)") }
    func register(_ index: Int, now: Int64) async throws {
      _ = try await fixture.register(tokens[index], "cost", app: "com.cost.\(index / 2)", now: now)
    }
    for index in tokens.indices { try await register(index, now: 1) }
    #expect(try await fixture.members("cost").count == 8)
    _ = try await fixture.run("CONFIG", "RESETSTAT")
    for index in tokens.indices { try await register(index, now: 2) }
    let again = try #require(try await fixture.run("INFO", "commandstats").string)
    #expect(!again.contains("cmdstat_sscan") && !again.contains("cmdstat_mget"))
    // A new device reads them once.
    _ = try await fixture.register(fixture.token("cost-new"), "cost", app: "com.cost.new", now: 3)
    let new = try #require(try await fixture.run("INFO", "commandstats").string)
    #expect(new.contains("cmdstat_sscan:calls=1,") && new.contains("cmdstat_mget:calls=1,"))
    try await server.stop()
  }
}

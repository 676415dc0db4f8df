import EventLoop
import PushModel
import Redis
import Registry
import RegistrySupport
import TestSupport
import Testing
@testable import Backup

/// The limit of a user's devices, however they are registered.
@EventLoop
@Suite(.inEveryWay)
struct DeviceLimitTests {
  private func tokens(_ name: String, _ count: Int, _ fixture: Fixture) -> [String] {
    (0..<count).map { fixture.token("\(name)-\(1000 + $0)") }
  }

  /// Writes devices as older versions and other programs do, without a limit. The first is the oldest.
  private func fill(_ user: String, _ tokens: [String], app: String, _ fixture: Fixture) async throws {
    for (index, token) in tokens.enumerated() {
      let metadata = DeviceMetadata(
        username: Username(user), platform: .ios, updatedAt: Int64(index + 1), bundleID: app)
      fixture.redis.send(RedisCommand("SADD", RegistryKeys.userTokens(Username(user)), token)) { _ in }
      fixture.redis.send(RedisCommand("SET", RegistryKeys.token(entry: token)).with(metadata.json())) { _ in }
      let audience = RegistryKeys.audience(app, shard: AudienceShard.shard(of: token))
      fixture.redis.send(RedisCommand("ZADD", audience, "0", token)) { _ in }
    }
    _ = try await fixture.run("PING")
  }

  private func isWhole(_ user: String, _ tokens: [String], app: String, _ fixture: Fixture) async throws -> Bool {
    let members = try await fixture.members(Username(user))
    for token in tokens {
      let isThere = members.contains(token)
      guard try await (fixture.metadata(token)?.username.text == user) == isThere,
        try await fixture.audience(app, of: token) == isThere
      else { return false }
    }
    return true
  }

  @Test func `one device more removes the one registered longest ago completely`() async throws {
    let fixture = try await Fixture(maximumDevices: 3)
    let all = tokens("limit", 4, fixture)
    for (token, now) in zip(all, [5, 3, 4] as [Int64]) {
      _ = try await fixture.register(token, "limit", app: "com.limit", now: now)
    }
    // A refresh is not a new device.
    _ = try await fixture.register(all[1], "limit", app: "com.limit", now: 6)
    #expect(try await fixture.members("limit") == Set(all[..<3]))
    _ = try await fixture.register(all[3], "limit", app: "com.limit", now: 7)
    #expect(try await fixture.members("limit") == [all[0], all[1], all[3]])
    #expect(try await fixture.metadata(all[2]) == nil)
    #expect(try await isWhole("limit", all, app: "com.limit", fixture))
  }

  @Test func `another owner's entry is removed first, and its owner keeps it`() async throws {
    let fixture = try await Fixture(maximumDevices: 2)
    let all = tokens("foreign", 4, fixture)
    _ = try await fixture.register(all[0], "limit-foreign", now: 1)
    _ = try await fixture.register(all[1], "limit-owner", now: 1)
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("limit-foreign"), all[1], "no token")
    _ = try await fixture.register(all[2], "limit-foreign", now: 2)
    #expect(try await fixture.members("limit-foreign") == [all[0], all[2]])
    #expect(try await fixture.metadata(all[1])?.username == "limit-owner")
    #expect(try await fixture.members("limit-owner") == [all[1]])
  }

  @Test func `a device taken from another user counts, and so does an exchange`() async throws {
    let fixture = try await Fixture(maximumDevices: 2)
    let all = tokens("hands", 5, fixture)
    for (index, token) in all[..<2].enumerated() {
      _ = try await fixture.register(token, "limit-taker", app: "com.hands", now: Int64(index))
    }
    _ = try await fixture.register(all[2], "limit-giver", app: "com.hands", now: 1)
    #expect(try await fixture.register(all[2], "limit-taker", app: "com.hands", now: 3) == "limit-giver")
    #expect(try await fixture.members("limit-taker") == [all[1], all[2]])
    // As many as before.
    #expect(
      try await fixture.registry.replace(
        token: DeviceToken(all[1]), with: DeviceToken(all[3]), of: "limit-taker", now: 4) != .notFound)
    #expect(try await fixture.members("limit-taker") == [all[2], all[3]])
    // The exchanged device is in no set.
    _ = try await fixture.register(all[4], "limit-taker", app: "com.hands", now: 5)
    _ = try await fixture.run("SREM", RegistryKeys.userTokens("limit-taker"), all[4])
    _ = try await fixture.register(all[0], "limit-taker", app: "com.hands", now: 6)
    #expect(try await fixture.members("limit-taker").count == 2)
    let device = try await fixture.registry.replace(
      token: DeviceToken(all[4]), with: DeviceToken(all[1]), of: "limit-taker", now: 7
    ).device
    #expect(device?.token.text == all[1])
    #expect(try await fixture.members("limit-taker") == [all[0], all[1]])
    #expect(try await isWhole("limit-taker", Array(all[..<4]), app: "com.hands", fixture))
  }

  @Test func `many concurrent registrations succeed and leave a consistent state`() async throws {
    let fixture = try await Fixture(maximumDevices: 10)
    let all = tokens("crowd", 60, fixture)
    let failures = await withTaskGroup(of: Bool.self) { group in
      for (index, token) in all.enumerated() {
        group.addTask {
          do {
            _ = try await fixture.register(token, "limit-crowd", app: "com.crowd", now: Int64(index))
            return false
          } catch {
            return true
          }
        }
      }
      var failures = 0
      for await failed in group where failed { failures += 1 }
      return failures
    }
    #expect(failures == 0)
    #expect(try await fixture.members("limit-crowd").count == 10)
    #expect(try await isWhole("limit-crowd", all, app: "com.crowd", fixture))
  }

  @Test func `a set above the limit shrinks with each registration, the oldest first`() async throws {
    let fixture = try await Fixture(maximumDevices: 100)
    let all = tokens("over", 1200, fixture)
    try await fill("limit-over", all, app: "com.over", fixture)
    var new: [String] = []
    var counts: [Int] = []
    repeat {
      new.append(fixture.token("over-new-\(new.count)"))
      _ = try await fixture.register(new.last ?? "", "limit-over", app: "com.over", now: Int64(5000 + new.count))
      counts.append(try await fixture.members("limit-over").count)
      // A device that the user has already removes none.
      _ = try await fixture.register(all[1199], "limit-over", app: "com.over", now: 5000)
    } while (counts.last ?? 0) > 100 && counts.count < 20
    #expect(counts == [901, 602, 303, 100])
    #expect(try await fixture.members("limit-over") == Set(all.suffix(96) + new))
    #expect(try await isWhole("limit-over", all + new, app: "com.over", fixture))
  }

  @Test func `a full redis accepts a device that replaces another`() async throws {
    let server = try await RedisServer()
    let fixture = try await Fixture(maximumDevices: 1, server: server)
    let all = tokens("oom", 3, fixture)
    _ = try await fixture.register(all[0], "limit-full", app: "com.full", now: 1)
    try await server.redisCLI("CONFIG", "SET", "maxmemory", "1")
    _ = try await fixture.register(all[1], "limit-full", app: "com.full", now: 2)
    #expect(try await fixture.members("limit-full") == [all[1]])
    _ = try await fixture.registry.replace(
      token: DeviceToken(all[1]), with: DeviceToken(all[2]), of: "limit-full", now: 3)
    #expect(try await fixture.members("limit-full") == [all[2]])
    await #expect(throws: RedisError.self) { try await fixture.register(all[0], "limit-other", now: 4) }
    #expect(try await fixture.metadata(all[0]) == nil)
    #expect(try await fixture.registry.unregister(token: DeviceToken(all[2]), username: "limit-full").metadata == 1)
    try await server.stop()
  }

  @Test func `a backup restores a user's newest devices and removes no newer device`() async throws {
    let fixture = try await Fixture(maximumDevices: 5)
    let (stored, brought) = (tokens("stored", 3, fixture), tokens("brought", 300, fixture))
    // 150 is older than most of the backup, 1000 is newer than all of it.
    for (token, now) in zip(stored, [150, 298, 1000] as [Int64]) {
      _ = try await fixture.register(token, "limit-backup", app: "com.b", now: now)
    }
    var entries = brought.enumerated().map { index, token in
      BackupEntry.device(
        token: DeviceToken(token),
        DeviceMetadata(username: "limit-backup", platform: .ios, updatedAt: Int64(index), bundleID: "com.b"))
    }
    entries.shuffle()
    let done = try await fixture.registry.restore(entries)
    #expect(
      try await fixture.members("limit-backup") == [stored[1], stored[2], brought[297], brought[298], brought[299]])
    #expect(done.refused["too_many_devices"] ?? 0 > 200)
    #expect(done.total == 300)
    #expect(try await isWhole("limit-backup", stored + brought, app: "com.b", fixture))
    // Again, it changes nothing.
    #expect(try await fixture.registry.restore(entries).created == 0)
    #expect(
      try await fixture.members("limit-backup") == [stored[1], stored[2], brought[297], brought[298], brought[299]])
  }

  @Test func `two users who register a token at the same time both succeed`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("race")
    let users = (0..<8).map { "racer-\($0)" }
    let failures = await withTaskGroup(of: Int.self) { group in
      for user in users {
        for turn in 0..<12 {
          group.addTask {
            var failed = 0
            for round in 0..<20 {
              do {
                _ = try await fixture.register(
                  token, Username(user), app: turn % 2 == 0 ? nil : "com.race.\(round % 3)")
              } catch {
                failed += 1
              }
            }
            return failed
          }
        }
      }
      var failures = 0
      for await failed in group { failures += failed }
      return failures
    }
    #expect(failures == 0)
    let owner = try await fixture.metadata(token)
    _ = try await fixture.run("PING")
    for user in users {
      let entry = await fixture.registry.resolve(.user(Username(user)))
      _ = try await fixture.clean(user: Username(user), entry.removals)
      #expect(try await fixture.members(Username(user)).contains(token) == (owner?.username.text == user))
    }
    for app in (0..<3).map({ "com.race.\($0)" }) where app != owner?.bundleID {
      let page = try await fixture.registry.audiencePage(of: app, from: .start)
      #expect(page.devices.isEmpty)
    }
  }
}

import BackupSupport
import EventLoop
import JSON
import Redis
import Registry
import RegistrySupport
import Telemetry
import Testing
import TestSupport
@testable import Backup
@testable import PushModel

@EventLoop
@Suite(.inEveryWay)
struct RestoreTests {
  private func device(
    _ token: String, _ user: String = "", app: String? = nil, at updatedAt: Int64 = 1000, createdAt: Int64? = nil
  ) -> BackupEntry {
    .device(
      token: DeviceToken(token),
      DeviceMetadata(
        username: Username(user), platform: .ios, updatedAt: updatedAt, bundleID: app, createdAt: createdAt))
  }

  @Test func `a new device is written exactly as given, in its sets, for a year`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("restored")
    let done = try await fixture.registry.restore([device(token, "restored", app: "com.restored", createdAt: 7)])
    #expect(done.created == 1)
    #expect(done.total == 1)
    #expect(
      try await fixture.metadata(token)
        == DeviceMetadata(
          username: "restored", platform: .ios, updatedAt: 1000, bundleID: "com.restored", createdAt: 7))
    #expect(try await fixture.members("restored") == [token])
    #expect(try await fixture.audience("com.restored", of: token))
    #expect(try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer ?? 0 > 31_500_000)
  }

  @Test(arguments: [Clock.unixMilliseconds + 3_600_000, 4_102_444_800_000, Timestamp.maximum])
  func `a date later than now is stored as now, and takes no device from who registered it`(date: Int64) async throws {
    let fixture = try await Fixture()
    let (token, instance) = (fixture.token("later-\(date % 1000)"), "later-\(date)")
    let record = InstanceRecord(
      token: DeviceToken(fixture.token("instance-\(date % 1000)")), environment: nil, updatedAt: date)
    let entries = [device(token, "former", at: date), .instance(id: instance, record)]
    #expect(try await fixture.registry.restore(entries).created == 2)
    #expect(try await fixture.metadata(token)?.updatedAt ?? .max <= Clock.unixMilliseconds)
    #expect(try await fixture.registry.restore(entries).kept == 2)
    _ = try await fixture.registry.register(
      Registration(token: DeviceToken(token), username: "later-owner", platform: .ios, now: 1000))
    try await fixture.registry.register(
      instance: instance, InstanceRecord(token: record.token, environment: nil, updatedAt: 1000))
    #expect(try await fixture.registry.restore(entries).kept == 2)
    #expect(try await fixture.metadata(token)?.username == "later-owner")
  }

  @Test func `devices of iOS without a token of APNs are written as given, and counted`() async throws {
    let fixture = try await Fixture()
    let (hex, firebase) = (String(repeating: "0c", count: 32), "c2Vy:APA91bH0123456789")
    let android = DeviceMetadata(username: "counted", platform: .android, updatedAt: 1000)
    let entries = [
      device(hex, "counted"), device(firebase, "counted"),
      .device(token: DeviceToken("android-0123456789abcdef"), android),
    ]
    let done = try await fixture.registry.restore(entries)
    #expect((done.created, done.notOfAPNs) == (3, 1))
    #expect(try await fixture.metadata(firebase)?.username == "counted")
  }

  @Test func `tokens of Live Activities are written with what they are for, for their time`() async throws {
    let fixture = try await Fixture()
    let (update, start) = (fixture.token("live-update"), fixture.token("live-start"))
    let activity = "of-\(update)"
    let metadata = [
      DeviceMetadata(
        username: "live", platform: .ios, updatedAt: 1000, bundleID: "com.live", kind: .activity, activity: activity),
      DeviceMetadata(
        username: "live", platform: .ios, updatedAt: 1000, bundleID: "com.live", kind: .pushtostart,
        activity: "Delivery", frequentPushes: true),
    ]
    let entries = zip([update, start], metadata).map { BackupEntry.device(token: DeviceToken($0), $1) }
    #expect(try await fixture.registry.restore(entries).created == 2)
    #expect(try await fixture.metadata(update) == metadata[0])
    #expect(try await fixture.metadata(start) == metadata[1])
    #expect(try await fixture.members("live") == [update, start])
    #expect(try await fixture.registry.activityDevices(activity).map(\.token.text) == [update])
    #expect(try await !fixture.audience("com.live", of: update))
    #expect(try await fixture.run("TTL", RegistryKeys.token(entry: update)).integer ?? .max <= 43_200)
    #expect(try await fixture.run("TTL", RegistryKeys.token(entry: start)).integer ?? 0 > 31_500_000)
  }

  @Test func `an anonymous device is only in its app's audience`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("nobodys")
    #expect(try await fixture.registry.restore([device(token, app: "com.nobody")]).created == 1)
    #expect(try await fixture.audience("com.nobody", of: token))
    #expect(try await fixture.members("").isEmpty)
    #expect(try await fixture.run("GET", RegistryKeys.token(entry: token)).string?.contains(#""username":"""#) == true)
  }

  @Test func `a record that is as new or newer stays`() async throws {
    let fixture = try await Fixture()
    let (same, newer) = (fixture.token("same"), fixture.token("newer"))
    _ = try await fixture.register(same, "stays", app: "com.stays", now: 1000)
    _ = try await fixture.register(newer, "stays", app: "com.stays", now: 1001)
    let done = try await fixture.registry.restore([
      device(same, "thief", app: "com.thief"), device(newer, "thief", app: "com.thief"),
    ])
    #expect(done.kept == 2)
    #expect(try await fixture.members("stays") == [same, newer])
    #expect(try await fixture.members("thief").isEmpty)
  }

  @Test func `an equally new record without an app takes that of the file, and stays otherwise as it is`() async throws
  {
    let fixture = try await Fixture()
    let (mine, others, known) = (fixture.token("app-mine"), fixture.token("app-others"), fixture.token("app-known"))
    for token in [mine, others] {
      let learned = DeviceMetadata(
        username: "app-less", platform: .ios, updatedAt: 1000, environment: .sandbox, deviceID: "phone")
      _ = try await fixture.run(
        "SET", RegistryKeys.token(entry: token), String(decoding: learned.json(), as: UTF8.self))
      _ = try await fixture.run("SADD", RegistryKeys.userTokens("app-less"), token)
    }
    _ = try await fixture.register(known, "app-less", app: "com.known", now: 1000)
    let entries = [
      device(mine, "app-less", app: "com.filled"), device(others, "thief", app: "com.filled"),
      device(known, "app-less", app: "com.filled"),
    ]
    let done = try await fixture.registry.restore(entries)
    #expect(done.updated == 1 && done.kept == 2)
    #expect(
      try await fixture.metadata(mine)
        == DeviceMetadata(
          username: "app-less", platform: .ios, updatedAt: 1000, bundleID: "com.filled", environment: .sandbox,
          deviceID: "phone"))
    #expect(try await fixture.audience("com.filled", of: mine))
    #expect(try await fixture.metadata(others)?.bundleID == nil)
    #expect(try await fixture.metadata(known)?.bundleID == "com.known")
    #expect(try await fixture.registry.restore(entries).kept == 3)
  }

  @Test func `a user keeps the newest of each kind`() async throws {
    let fixture = try await Fixture(maximumDevices: 2)
    func entry(_ number: Int, _ kind: DeviceKind) -> BackupEntry {
      .device(
        token: DeviceToken(fixture.token("kind-\(kind)-\(number)")),
        DeviceMetadata(
          username: "kinds", platform: .ios, updatedAt: Int64(number), bundleID: "com.kinds", kind: kind, deviceID: "p")
      )
    }
    let done = try await fixture.registry.restore((1...3).flatMap { [entry($0, .app), entry($0, .voip)] })
    // In steps, an older one may be written before the newer ones, and leave again.
    #expect(done.refused["too_many_devices", default: 0] <= 2)
    #expect(
      try await fixture.members("kinds")
        == Set([2, 3].flatMap { [fixture.token("kind-app-\($0)"), fixture.token("kind-voip-\($0)")] }))
    #expect(try await fixture.audience("com.kinds", of: fixture.token("kind-app-3")))
    #expect(try await !fixture.audience("com.kinds", of: fixture.token("kind-voip-3")))
    #expect(try await fixture.metadata(fixture.token("kind-voip-3"))?.kind == .voip)
  }

  @Test func `the instance of a restored token is known, unless another has it`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("of-instance")
    let record = InstanceRecord(token: DeviceToken(token), environment: nil, updatedAt: 5, isSuspended: true)
    _ = try await fixture.registry.restore([.instance(id: "restored-1", record)])
    _ = try await fixture.registry.restore([.instance(id: "restored-2", record)])
    #expect(try await fixture.registry.instance(ofToken: DeviceToken(token)) == "restored-1")
    let stored = try await fixture.run("GET", RegistryKeys.instance("restored-1")).bytes
    #expect(stored.flatMap(InstanceRecord.init(parsing:)) == record)
  }

  @Test func `an older record is replaced, and the device leaves its former owner and app`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("older")
    _ = try await fixture.register(token, "before-backup", app: "com.before-backup", now: 999)
    #expect(try await fixture.registry.restore([device(token, "in-backup", app: "com.in-backup")]).updated == 1)
    #expect(try await fixture.members("before-backup").isEmpty)
    #expect(try await fixture.members("in-backup") == [token])
    #expect(try await !fixture.audience("com.before-backup", of: token))
    #expect(try await fixture.audience("com.in-backup", of: token))
    #expect(try await fixture.metadata(token)?.username == "in-backup")
  }

  @Test func `a record without an owner does not take a device from its owner`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("owned")
    _ = try await fixture.register(token, "owner", app: "com.owned", now: 1)
    #expect(try await fixture.registry.restore([device(token, app: "com.other")]).kept == 1)
    #expect(try await fixture.members("owner") == [token])
    #expect(try await !fixture.audience("com.other", of: token))
  }

  @Test func `a malformed record is replaced`() async throws {
    let fixture = try await Fixture()
    for (number, garbage) in ["", "{", "[1]", "null", #"{"username":{},"updatedAt":"x"}"#].enumerated() {
      let token = fixture.token("unreadable-\(number)")
      _ = try await fixture.run("SET", RegistryKeys.token(entry: token), garbage)
      _ = try await fixture.registry.restore([device(token, "reader")])
      #expect(try await fixture.metadata(token)?.username == "reader", "\(garbage)")
    }
    let list = fixture.token("unreadable-list")
    _ = try await fixture.run("LPUSH", RegistryKeys.token(entry: list), "x")
    #expect(try await fixture.registry.restore([device(list, "reader")]).created == 1)
  }

  @Test func `a set of another type affects only its own devices, completely`() async throws {
    let fixture = try await Fixture()
    let (bad, good) = (fixture.token("bad-set"), fixture.token("good-set"))
    _ = try await fixture.run("SET", RegistryKeys.userTokens("bad-set"), "x")
    let done = try await fixture.registry.restore([device(bad, "bad-set", app: "com.set"), device(good, "good-set")])
    #expect(done.refused == ["wrong_type": 1])
    #expect(done.created == 1)
    #expect(try await fixture.metadata(bad) == nil)
    #expect(try await !fixture.audience("com.set", of: bad))
  }

  @Test func `the newer of two records of a token is kept, in either order`() async throws {
    let fixture = try await Fixture()
    let (first, second) = (fixture.token("twice-1"), fixture.token("twice-2"))
    let done = try await fixture.registry.restore([
      device(first, "twice-new", at: 2), device(first, "twice-old", at: 1),
      device(second, "twice-old", at: 1), device(second, "twice-new", at: 2),
    ])
    #expect(done.created == 2)
    #expect(try await fixture.members("twice-new") == [first, second])
    #expect(try await fixture.members("twice-old").isEmpty)
  }

  @Test func `an instance keeps the newer device`() async throws {
    let fixture = try await Fixture()
    func record(_ name: String, at updatedAt: Int64) -> InstanceRecord {
      InstanceRecord(
        token: DeviceToken(fixture.token(name)), environment: .sandbox, bundleID: "com.i", updatedAt: updatedAt)
    }
    func restore(_ record: InstanceRecord) async throws -> BackupSummary {
      try await fixture.registry.restore([.instance(id: "restored", record)])
    }
    #expect(try await restore(record("i-2", at: 2)).created == 1)
    #expect(try await restore(record("i-1", at: 1)).kept == 1)
    #expect(try await restore(record("i-3", at: 3)).updated == 1)
    let stored = try await fixture.run("GET", RegistryKeys.instance("restored")).bytes
    #expect(stored.flatMap(InstanceRecord.init(parsing:)) == record("i-3", at: 3))
  }

  @Test func `more devices than one script takes are restored, and a repetition changes nothing`() async throws {
    let fixture = try await Fixture(maximumDevices: 1000)
    let entries = (0..<1234).map { device(fixture.token("restored-\($0)"), "restored-\($0 % 7)", app: "com.restored") }
    #expect(try await fixture.registry.restore(entries).created == 1234)
    #expect(try await fixture.registry.restore(entries).kept == 1234)
    #expect(try await fixture.registry.restore([]).total == 0)
  }

  @Test func `a full Redis refuses all devices completely`() async throws {
    let server = try await RedisServer()
    let registry = try await Fixture(server: server).registry
    let entries = (0..<10).map { device("token-full-\($0)-0123456789", "full", app: "com.full") }
    try await server.redisCLI("CONFIG", "SET", "maxmemory", "1")
    let error = await #expect(throws: RedisError.self) { try await registry.restore(entries) }
    #expect("\(error.map { "\($0)" } ?? "")".contains("OOM"))
    #expect(try await server.redisCLI("DBSIZE") == "0")
    try await server.redisCLI("CONFIG", "SET", "maxmemory", "0")
    #expect(try await registry.restore(entries).created == 10)
  }
}

import Credentials
import DashboardSupport
import EventLoop
import Foundation
import JSON
import PushModel
import Queue
import Redis
import Registry
import Telemetry
import Testing
import TestSupport

@testable import Dashboard

/// The pages devices, apps, workers and policies over HTTP.
@EventLoop
struct FleetPagesTests {
  nonisolated private static let token = String(repeating: "a1", count: 32)
  private let keys = QueueKeys(queue: "push:jobs")

  private func fixture() async throws -> DashboardFixture {
    let fixture = try await DashboardFixture(queues: ["push:jobs"])
    try await fixture.add(.viewer, "vera", secret: "vera-has-a-secret")
    try await fixture.add(.operator, "omar", secret: "omar-has-a-secret")
    try await fixture.add(.admin, "ada", secret: "ada-has-a-secret")
    return fixture
  }

  private func register(_ user: String, _ token: String, on fixture: DashboardFixture) async throws {
    let metadata = DeviceMetadata(username: Username(user), platform: .ios, updatedAt: 1, bundleID: "com.a")
    let json = String(decoding: metadata.json(), as: UTF8.self)
    _ = try await fixture.run("SET", RegistryKeys.token(entry: token), json)
    _ = try await fixture.run("SADD", RegistryKeys.userTokens(Username(user)), token)
  }

  private func addWorker(_ name: String, _ adapt: (inout WorkerReport) -> Void = { _ in }, on fixture: DashboardFixture)
    async throws
  {
    var report = WorkerReport(startedAt: 1, jobs: 10, jobsPerSecond: 2.5, outstanding: 1, inFlight: 3, concurrency: 64)
    adapt(&report)
    _ = try await fixture.run("SADD", keys.workers, name)
    _ = try await fixture.run("SET", keys.heartbeat(name), String(decoding: report.json(), as: UTF8.self))
  }

  // MARK: - What others wrote

  @Test(arguments: [
    ("SADD", RegistryKeys.token(entry: FleetPagesTests.token), "/devices?token=\(FleetPagesTests.token)"),
    ("SADD", RegistryKeys.instance("home"), "/devices?instance=home"),
    ("SET", "martlet:{credentials}:user", "/credentials?kind=user"), ("SET", "martlet:{audit}:log", "/audit"),
  ])
  func `a page says which key has another type`(command: String, key: String, path: String) async throws {
    let fixture = try await DashboardFixture(queues: ["push:jobs"])
    _ = try await fixture.run(command == "SET" ? "SET" : "SADD", key, "1")
    let page = try await fixture.get(path)
    #expect(page.status == 409 || page.status == 200, "\(page.status)")
    if page.status == 409 { #expect(page.body.contains("The key \(key) has another type"), "\(page.body)") }
    await fixture.stop()
  }

  @Test func `a hundred thousand names of workers cost no more than a thousand`() async throws {
    let fixture = try await fixture()
    try await addWorker("web-1-ab", on: fixture)
    for start in stride(from: 0, to: 100_000, by: 10_000) {
      let names = (start..<start + 10_000).map { "gone-\($0)" }
      var command = RedisCommand("SADD", keys.workers)
      for name in names { command.append(name) }
      _ = try await fixture.redis.send(command)
    }
    _ = try await fixture.run("CONFIG", "RESETSTAT")
    for path in ["/", "/workers", "/queues", "/queues/push:jobs", "/apps", "/jobs/unknown"] {
      let page = try await fixture.get(path, as: "ada:ada-has-a-secret")
      #expect(page.status == 200 || page.status == 404, "\(path): \(page.status)")
    }
    let statistics = try await fixture.run("INFO", "commandstats").string ?? ""
    let calls = statistics.split(separator: "\n").compactMap { line -> Int? in
      guard let calls = line.firstRange(of: "calls=") else { return nil }
      return Int(line[calls.upperBound...].prefix(while: \.isNumber))
    }
    #expect(calls.reduce(0, +) < 20_000, "\(statistics)")
    await fixture.stop()
  }

  // MARK: - Devices

  @Test func `a user's devices are shown with shortened tokens, whole ones only to an admin who asks`() async throws {
    let fixture = try await fixture()
    try await register("bob", FleetPagesTests.token, on: fixture)
    for (user, query, isWhole) in [
      ("vera:vera-has-a-secret", "&whole=yes", false), ("omar:omar-has-a-secret", "&whole=yes", false),
      ("ada:ada-has-a-secret", "", false), ("ada:ada-has-a-secret", "&whole=yes", true),
    ] {
      let page = try await fixture.get("/devices?user=BOB%20\(query)", as: user)
      #expect(page.status == 200)
      #expect(page.heading == "Devices of bob")
      #expect(page.body.contains("a1a1a1a1"))
      #expect(page.body.contains(FleetPagesTests.token) == isWhole, "\(user) \(query)")
    }
    await fixture.stop()
  }

  @Test func `malformed, unknown and several queries get a plain answer`() async throws {
    let fixture = try await fixture()
    for (query, status) in [
      ("token=%3Cb%3E", 400), ("instance=a%20b", 400), ("user=a&token=b", 400), ("user=%00", 400),
      ("user=nobody", 200), ("user=nobody&cursor=50", 400), ("user=nobody&cursor=x", 400), ("", 200),
      ("token=\(FleetPagesTests.token)", 200), ("instance=home-1", 200),
    ] {
      let page = try await fixture.get("/devices?\(query)", as: "vera:vera-has-a-secret")
      #expect(page.status == status, "\(query)")
      #expect(page.heading != nil)
    }
    await fixture.stop()
  }

  @Test func `a user with many devices is shown in parts, each device once`() async throws {
    let fixture = try await fixture()
    for number in 0..<120 {
      let digits = String(number)
      let token = String(repeating: "0", count: 20 - digits.utf8.count) + digits + String(repeating: "c", count: 44)
      try await register("many", token, on: fixture)
    }
    var references: Set<String> = []
    for cursor in ["", "&cursor=50", "&cursor=100"] {
      let page = try await fixture.get("/devices?user=many\(cursor)", as: "ada:ada-has-a-secret")
      let parts = page.body.components(separatedBy: "name=\"device\" value=\"").dropFirst()
      references.formUnion(parts.map { String($0.prefix(32)) })
    }
    #expect(references.count == 120)
    await fixture.stop()
  }

  @Test func `a test push is a valid job for that device`() async throws {
    let fixture = try await fixture()
    try await register("bob", FleetPagesTests.token, on: fixture)
    let reference = DeviceEntry.reference(to: DeviceToken(FleetPagesTests.token))
    let answer = try await fixture.post(
      "/devices?user=bob", [("action", "test"), ("device", reference)], as: "omar:omar-has-a-secret")
    #expect(answer.status == 303)
    #expect(answer.headers["location"]?.hasPrefix("./jobs/test-") == true)
    let element = try #require(try await fixture.run("LINDEX", "push:jobs", "0").bytes)
    let job = try JSONValue(parsing: element)
    #expect(job["to"]?["user"]?.string == "bob")
    #expect(job["to"]?["token"]?.string == FleetPagesTests.token)
    #expect(job["app"]?.string == "com.a")
    let log = AuditLog(connection: fixture.redis, log: .silent)
    #expect(try await log.read(before: nil, count: 1).first?.subject == "device a1a1a1a1… of user bob")
    await fixture.stop()
  }

  @Test func `a device is removed once, by an admin`() async throws {
    let fixture = try await fixture()
    try await register("bob", FleetPagesTests.token, on: fixture)
    let form = [("action", "remove"), ("device", DeviceEntry.reference(to: DeviceToken(FleetPagesTests.token)))]
    #expect(try await fixture.post("/devices?user=bob", form, as: "omar:omar-has-a-secret").status == 403)
    #expect(try await fixture.run("EXISTS", RegistryKeys.token(entry: FleetPagesTests.token)).integer == 1)
    #expect(try await fixture.post("/devices?user=bob", form, as: "ada:ada-has-a-secret").status == 303)
    #expect(try await fixture.run("EXISTS", RegistryKeys.token(entry: FleetPagesTests.token)).integer == 0)
    #expect(try await fixture.run("SCARD", RegistryKeys.userTokens("bob")).integer == 0)
    let log = AuditLog(connection: fixture.redis, log: .silent)
    #expect(
      try await log.read(before: nil, count: 2).map { "\($0.subject): \($0.outcome)" } == [
        "device a1a1a1a1… of user bob: done", "device a1a1a1a1… of user bob: refused: Not allowed",
      ])
    #expect(try await fixture.post("/devices?user=bob", form, as: "ada:ada-has-a-secret").status == 409)
    await fixture.stop()
  }

  @Test func `links to a device have a digest of its token, and lead to it`() async throws {
    let fixture = try await fixture()
    try await register("bob", FleetPagesTests.token, on: fixture)
    let job = #"{"id":"direct","to":{"token":"\#(FleetPagesTests.token)"},"title":"x"}"#
    _ = try await fixture.run("LPUSH", "push:jobs", job)
    let reference = DeviceEntry.reference(to: DeviceToken(FleetPagesTests.token))
    for path in ["/queues/push:jobs", "/jobs/direct"] {
      let page = try await fixture.get(path, as: "ada:ada-has-a-secret")
      #expect(!page.body.contains(FleetPagesTests.token), "\(path)")
      #expect(page.body.contains("../devices?job=direct&amp;device=\(reference)"), "\(path)")
    }
    let path = "/devices?job=direct&device=\(reference)"
    let page = try await fixture.get(path, as: "vera:vera-has-a-secret")
    #expect(page.heading == "Device a1a1a1a1…")
    #expect(page.body.contains("bob") && !page.body.contains(FleetPagesTests.token))
    let test = [("action", "test"), ("device", reference)]
    #expect(try await fixture.post(path, test, as: "omar:omar-has-a-secret").status == 303)
    for path in ["/devices?job=direct&device=x", "/devices?job=gone&device=\(reference)"] {
      #expect(try await fixture.get(path, as: "vera:vera-has-a-secret").status == 404, "\(path)")
    }
    await fixture.stop()
  }

  @Test func `a device is shown with its environment, kind, phone and refusal, and a token of an instance is found`()
    async throws
  {
    let fixture = try await fixture()
    let metadata = DeviceMetadata(
      username: "bob", platform: .ios, updatedAt: 1, bundleID: "com.a", kind: .voip, deviceID: "iphone-<1>")
    let json = String(decoding: metadata.json(), as: UTF8.self)
    _ = try await fixture.run("SET", RegistryKeys.token(entry: FleetPagesTests.token), json)
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("bob"), FleetPagesTests.token)
    let note = RefusalNote(
      reason: "DeviceTokenNotForTopic", status: 400, at: 5, jobID: "j", topic: "com.b", environment: .sandbox)
    _ = try await fixture.run(
      "SET", RegistryKeys.refusal(DeviceToken(FleetPagesTests.token)), String(decoding: note.json(), as: UTF8.self))
    let page = try await fixture.get("/devices?user=bob", as: "ada:ada-has-a-secret")
    for cell in [
      #"data-title="Environment">unknown<"#, #"data-title="Kind">voip<"#, "iphone-&lt;1&gt;", "DeviceTokenNotForTopic",
      "has no device of the kind app", "its own topic is com.a.voip",
    ] {
      #expect(page.body.contains(cell), "\(cell)")
    }
    let form = [("action", "test"), ("device", DeviceEntry.reference(to: DeviceToken(FleetPagesTests.token)))]
    #expect(try await fixture.post("/devices?user=bob", form, as: "omar:omar-has-a-secret").status == 303)
    let job = try JSONValue(parsing: try #require(try await fixture.run("LINDEX", "push:jobs", "0").bytes))
    #expect(job["pushType"]?.string == "voip" && job["title"] == nil)

    let token = String(repeating: "b2", count: 32)
    let record = InstanceRecord(token: DeviceToken(token), environment: .production, bundleID: "com.a", updatedAt: 1)
    _ = try await fixture.run("SET", RegistryKeys.instance("home-9"), String(decoding: record.json(), as: UTF8.self))
    _ = try await fixture.run("SET", RegistryKeys.instanceOfToken(DeviceToken(token)), "home-9")
    let found = try await fixture.get("/devices?token=\(token)", as: "ada:ada-has-a-secret")
    #expect(found.body.contains("It is the device of instance home-9."))
    let removal = [("action", "remove"), ("device", DeviceEntry.reference(to: DeviceToken(token)))]
    #expect(try await fixture.post("/devices?token=\(token)", removal, as: "ada:ada-has-a-secret").status == 303)
    let stored = try await fixture.run("GET", RegistryKeys.instance("home-9")).bytes
    #expect(stored.flatMap(InstanceRecord.init(parsing:))?.isActive == false)
    await fixture.stop()
  }

  @Test func `another user's device is not removed from this user's page`() async throws {
    let fixture = try await fixture()
    try await register("bob", FleetPagesTests.token, on: fixture)
    let form = [("action", "remove"), ("device", DeviceEntry.reference(to: DeviceToken(FleetPagesTests.token)))]
    #expect(try await fixture.post("/devices?user=alice", form, as: "ada:ada-has-a-secret").status == 409)
    #expect(try await fixture.run("EXISTS", RegistryKeys.token(entry: FleetPagesTests.token)).integer == 1)
    await fixture.stop()
  }

  // MARK: - Workers

  @Test func `a worker is drained and undrained, and one without a heartbeat is named`() async throws {
    let fixture = try await fixture()
    try await addWorker("host-12-abc", on: fixture)
    _ = try await fixture.run("SADD", keys.workers, "host-13-<b>")
    let page = try await fixture.get("/workers", as: "omar:omar-has-a-secret")
    #expect(page.body.contains("no heartbeat"))
    #expect(page.body.contains("One worker has no heartbeat"))
    #expect(!page.body.contains("<b>"))
    let user = "omar:omar-has-a-secret"
    let done = try await fixture.act("/workers", [("action", "drain"), ("worker", "host-12-abc")], as: user)
    #expect(done.body.contains("claims no more jobs"))
    #expect(
      try await fixture.post("/workers", [("action", "undrain"), ("worker", "host-12-abc")], as: user).status == 303)
    #expect(
      try await fixture.post("/workers", [("action", "undrain"), ("worker", "host-12-abc")], as: user).status == 409)
    #expect(try await fixture.post("/workers", [("action", "drain"), ("worker", "gone")], as: user).status == 409)
    #expect(try await fixture.post("/workers", [("action", "drain")], as: user).status == 400)
    await fixture.stop()
  }

  @Test func `a worker's page says what it holds, and an unknown one is not found`() async throws {
    let fixture = try await fixture()
    try await addWorker("host-12-abc", { $0.version = "9.8.7" }, on: fixture)
    _ = try await fixture.run("LPUSH", keys.inflight("host-12-abc"), "x", "y")
    for number in 1...60 {
      let job = #"{"id":"held-\#(number)","to":{"user":"alice"},"title":"x"}"#
      _ = try await fixture.run("LPUSH", keys.inflight("host-12-abc"), job)
    }
    let page = try await fixture.get("/workers?worker=host-12-abc", as: "vera:vera-has-a-secret")
    #expect(page.body.contains("href=\"./jobs/held-60\"") && page.body.contains("./jobs/held-11\""))
    #expect(!page.body.contains("held-10\"") && page.body.contains("The 50 that were claimed last."))
    #expect(page.heading == "Worker host-12-abc")
    #expect(page.body.contains("9.8.7"))
    #expect(try await fixture.get("/workers?worker=nope", as: "vera:vera-has-a-secret").status == 404)
    await fixture.stop()
  }

  // MARK: - Apps and policies

  @Test func `an app's paused route is shown with its reason`() async throws {
    let fixture = try await fixture()
    try await addWorker(
      "host-12-abc",
      { report in
        report.appStates = [
          AppState(bundleIDs: ["com.a"], team: "TEAM123456", keys: [.init(id: "KEY1", state: .signs)])
        ]
        report.pausedRoutes = [
          RouteNotice(environment: .production, topic: "com.a", reason: "TopicDisallowed", since: 1)
        ]
      }, on: fixture)
    _ = try await fixture.run("ZADD", RegistryKeys.audience("com.a", shard: 3), "0", FleetPagesTests.token)
    let page = try await fixture.get("/apps", as: "vera:vera-has-a-secret")
    #expect(page.body.contains("TopicDisallowed"))
    #expect(page.body.contains("route paused"))
    #expect(page.body.contains("KEY1"))
    #expect(page.body.contains("APNs refuses pushes of 1 app"))
    await fixture.stop()
  }

  @Test func `keys of another type and reports that are none do not break a page`() async throws {
    let fixture = try await fixture()
    _ = try await fixture.run("SADD", keys.workers, "odd")
    _ = try await fixture.run("SET", keys.heartbeat("odd"), "no report")
    _ = try await fixture.run("SET", keys.inflight("odd"), "no list")
    _ = try await fixture.run("LPUSH", RegistryKeys.instance("home-1"), "x")
    for path in ["/workers", "/apps", "/devices?instance=home-1"] {
      #expect(try await fixture.get(path, as: "vera:vera-has-a-secret").status == 200, "\(path)")
    }
    await fixture.stop()
  }
}

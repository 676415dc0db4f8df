import PushModel
import FleetSupport
import Foundation
import Jobs
import JSON
import Redis
import Registry
import Testing
import TestSupport
@testable import Queue
@testable import Credentials

/// Notifications that cannot be pushed can be polled by each addressee who is able to poll.
@Suite(.serialized) struct PollingTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  // MARK: - Without APNs

  @Test func `each owner of the tokens of a job has one record`() async throws {
    let (alice, bob) = (fleet.unique("alice"), fleet.unique("bob"))
    let (several, single) = (fleet.uniqueTokens(3), fleet.uniqueToken())
    try await fleet.register(several, to: alice)
    try await fleet.register(single, to: bob)
    let worker = try await fleet.worker(isPollingOnly: true)
    let all = try await deliver(#""tokens":\#(list(several + [single, fleet.uniqueToken()]))"#, on: worker)
    #expect(all.status == "unsent")
    for user in [alice, bob] {
      let records = try await records(of: user)
      #expect(records.map(\.id) == [all.id])
      #expect(records.map(\.status) == ["unsent"])
      #expect(records.map(\.title) == ["News"])
    }
    let one = try await deliver(#""token":"\#(single)""#, on: worker)
    #expect(try await records(of: bob).map(\.id) == [all.id, one.id])
    #expect(try await records(of: alice).count == 1)
    try await worker.stop()
  }

  @Test func `each user of an audience has one record, even if the devices are on several pages`() async throws {
    let (app, prefix) = ("com.example.\(fleet.unique("news"))", fleet.unique("reader"))
    let users = try await audience(of: 600, devicesEach: 2, app: app, prefix: prefix)
    try await fleet.register(fleet.uniqueTokens(20), to: "", bundleID: app)
    let worker = try await fleet.worker(isPollingOnly: true)
    let record = try await deliver(#""app":"\#(app)""#, on: worker)
    #expect(record.status == "unsent")
    try await expectOneRecord(of: [record.id], for: users)
    #expect(try await fleet.redis("KEYS", "martlet:*progress*").array == [])
    // The job runs again, as after a crash behind the last page.
    let again = fleet.unique("again")
    try await fleet.enqueue(
      job(#""app":"\#(app)""#, id: record.id), job(#""app":"\#(app)""#, id: again), on: worker.queue)
    _ = try await fleet.record(again)
    try await expectOneRecord(of: [record.id, again], for: users)
    try await worker.stop()
  }

  @Test func `each user has one record although the worker was killed midway`() async throws {
    let (app, prefix) = ("com.example.\(fleet.unique("news"))", fleet.unique("reader"))
    let users = try await audience(of: 20_000, devicesEach: 1, app: app, prefix: prefix)
    let first = try await fleet.worker(isPollingOnly: true)
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(job(#""app":"\#(app)""#, id: id), on: first.queue)
    try await eventually("it is in flight") {
      try await fleet.redis("KEYS", "martlet:{\(first.queue)}:progress:*").array != []
    }
    try await first.kill()
    let before = try await fleet.redis("KEYS", "push:user:\(prefix)-*:notifications").array?.count ?? 0
    print("killed with \(before) of \(users.count) records kept")
    try await fleet.forgetHeartbeat(of: first)
    let second = try await fleet.worker(on: first.queue, isPollingOnly: true)
    #expect(try await fleet.record(id).status == "unsent")
    try await expectOneRecord(of: [id], for: users)
    try await second.stop()
  }

  @Test(arguments: [true, false])
  func `a payload that is too large for APNs is not recorded for each of many users`(isPollingOnly: Bool) async throws {
    let (user, app) = (fleet.unique("reader"), "com.example.\(fleet.unique("large"))")
    let tokens = fleet.uniqueTokens(2)
    try await fleet.register(tokens, to: user, bundleID: app)
    let worker = try await fleet.worker(isPollingOnly: isPollingOnly)
    let members = #","body":"\#(String(repeating: "x", count: 5000))""#
    for to in [#""tokens":\#(list(tokens))"#, #""app":"\#(app)""#] {
      let record = try await deliver(to, members, on: worker)
      #expect(record.status == "dead")
      #expect(record.reason?.hasPrefix("PayloadTooLarge") == true)
    }
    #expect(try await records(of: user).isEmpty)
    try await worker.stop()
  }

  @Test func `a broadcast whose records Redis refuses is retried and continues`() async throws {
    let own = try await Fleet()
    let app = "com.example.news"
    try await own.register(own.uniqueTokens(20), to: "reader", bundleID: app)
    let worker = try await own.worker(isPollingOnly: true)
    try await own.redis.redisCLI(["ACL", "SETUSER", Fleet.user, "-xadd"])
    try await own.enqueue(job(#""app":"\#(app)""#, id: "news"), on: worker.queue)
    let postponed = try await own.record("news", "postponed") { $0.status == "retrying" }
    #expect(postponed.reason?.contains("can't run this command") == true, "\(postponed.reason ?? "")")
    try await own.redis.redisCLI(["ACL", "SETUSER", Fleet.user, "+xadd"])
    #expect(try await own.record("news").status == "unsent")
    #expect(try await own.redis("XLEN", QueueKeys.notifications("reader")) == .integer(1))
    try await worker.stop()
  }

  @Test func `readiness reports that APNs is not configured`() async throws {
    let worker = try await fleet.worker(isPollingOnly: true)
    try await worker.ready()
    let answer = try await worker.get("/readyz")
    #expect(answer.status == 200)
    #expect(answer.body.contains(#""ready":true"#))
    #expect(answer.body.contains(#""apns":"not configured""#))
    try await worker.stop()
  }

  // MARK: - With APNs

  @Test func `owners who were not reached by a push have a record`() async throws {
    var users: [Owner: String] = [:]
    var tokens: [Owner: [String]] = [:]
    for owner in Owner.allCases {
      // Users whose devices were removed can still poll.
      users[owner] = try await fleet.userWithCredentials("\(owner)")
      tokens[owner] = fleet.uniqueTokens(2)
      try await fleet.register(tokens[owner]!, to: users[owner]!)
    }
    for token in [tokens[.half]![0]] + tokens[.none]! { try await fleet.gateway.device(token, #""rule":"bad""#) }
    // Refused temporarily, and always.
    for token in [tokens[.reachedButOpen]![0], tokens[.late]![0], tokens[.late]![1]] + tokens[.never]! {
      try await fleet.gateway.device(token, #""rule":"fixed","status":503,"retryAfter":2"#)
    }
    let worker = try await fleet.worker(["MARTLET_MAX_ATTEMPTS": "4"])
    let id = fleet.unique("several")
    try await fleet.enqueue(job(#""tokens":\#(list(tokens.values.flatMap { $0 }))"#, id: id), on: worker.queue)
    _ = try await fleet.record(id, "its first attempt") { $0.status == "retrying" }
    #expect(try await records(of: users[.none]!).map(\.status) == ["failed"])
    for token in tokens[.late]! { try await fleet.gateway.device(token, #""rule":"good""#) }
    #expect(try await fleet.record(id).status == "dead")
    #expect(try await records(of: users[.none]!).map(\.status) == ["failed"])
    #expect(try await records(of: users[.never]!).map(\.status) == ["dead"])
    for owner in [Owner.all, .half, .reachedButOpen, .late] {
      #expect(try await records(of: users[owner]!).isEmpty, "\(owner)")
    }
    try await worker.stop()
  }

  private enum Owner: CaseIterable {
    case all, half, none, reachedButOpen, late, never
  }

  @Test func `the owners of tokens have a record of an expired job`() async throws {
    let (alice, bob) = (fleet.unique("alice"), fleet.unique("bob"))
    let tokens = fleet.uniqueTokens(2)
    try await fleet.register(tokens[0], to: alice)
    try await fleet.register(tokens[1], to: bob)
    let worker = try await fleet.worker()
    let both = try await deliver(#""tokens":\#(list(tokens))"#, #","expiration":1700000000"#, on: worker)
    let one = try await deliver(#""token":"\#(tokens[0])""#, #","expiration":1700000000"#, on: worker)
    #expect(both.status == "expired")
    #expect(try await records(of: alice).map(\.id) == [both.id, one.id])
    #expect(try await records(of: bob).map(\.id) == [both.id])
    try await worker.stop()
  }

  @Test func `a job is postponed while its owners cannot be looked up, and loses no record`() async throws {
    let own = try await Fleet()
    let token = own.uniqueToken()
    try await own.register(token, to: "reader")
    let worker = try await own.worker()
    let allowed = ["~push:result:*", "~push:user:*", "~martlet:*", "~\(worker.queue)"]
    try await own.redis.redisCLI(["ACL", "SETUSER", Fleet.user, "resetkeys"] + allowed)
    try await own.enqueue(job(#""token":"\#(token)""#, #","expiration":1700000000"#, id: "late"), on: worker.queue)
    let postponed = try await own.record("late", "postponed") { $0.status == "retrying" || $0.status == "expired" }
    #expect(postponed.status == "retrying")
    #expect(postponed.reason?.contains("NOPERM") == true, "\(postponed.reason ?? "")")
    try await own.redis.redisCLI(["ACL", "SETUSER", Fleet.user, "allkeys"])
    #expect(try await own.record("late").status == "expired")
    #expect(try await own.redis("XLEN", QueueKeys.notifications("reader")) == .integer(1))
    try await worker.stop()
  }

  @Test func `with all records kept, each owner's record has the status of the owner's devices`() async throws {
    let (alice, bob) = (fleet.unique("alice"), try await fleet.userWithCredentials("bob"))
    let tokens = fleet.uniqueTokens(2)
    try await fleet.register(tokens[0], to: alice)
    try await fleet.register(tokens[1], to: bob)
    try await fleet.gateway.device(tokens[1], #""rule":"bad""#)
    let worker = try await fleet.worker(["MARTLET_NOTIFICATION_LOG": "all"])
    #expect(try await deliver(#""tokens":\#(list(tokens))"#, on: worker).status == "partial")
    #expect(try await records(of: alice).map(\.status) == ["accepted"])
    #expect(try await records(of: bob).map(\.status) == ["failed"])
    #expect(try await deliver(#""token":"\#(tokens[0])""#, on: worker).status == "accepted")
    #expect(try await records(of: alice).map(\.status) == ["accepted", "accepted"])
    try await worker.stop()
  }

  // MARK: - Users who cannot poll

  @Test(arguments: [true, false])
  func `records are kept only for users who can poll`(isPollingOnly: Bool) async throws {
    let worker = try await fleet.worker(isPollingOnly: isPollingOnly)
    let invited = try await fleet.userWithCredentials("invited")
    let owner = fleet.unique("owner")
    try await fleet.register([fleet.uniqueToken()], to: owner, platform: "android")
    for (user, isKept) in [(invited, true), (owner, true), (fleet.unique("nobody"), false)] {
      _ = try await deliver(#""user":"\#(user)""#, on: worker)
      #expect(
        try await fleet.redis("EXISTS", QueueKeys.notifications(Username(user))) == .integer(isKept ? 1 : 0), "\(user)")
    }
    try await worker.stop()
  }

  // MARK: -

  private struct Found {
    let json: JSONValue

    var id: String? { json["id"]?.string }
    var status: String? { json["status"]?.string }
    var title: String? { json["payload"]?["aps"]?["alert"]?["title"]?.string }
  }

  private func records(of user: String) async throws -> [Found] {
    try await records(in: QueueKeys.notifications(Username(user)))
  }

  private func records(in stream: String) async throws -> [Found] {
    try await PollingTests.found(fleet.redis("XRANGE", stream, "-", "+"))
  }

  private static func found(_ value: RedisValue) throws -> [Found] {
    try (value.array ?? []).map { entry in
      let fields = entry.array?.last?.array ?? []
      try #require(fields.first?.string == "notification")
      return Found(json: try JSONValue(parsing: try #require(fields.last?.bytes)))
    }
  }

  /// Expects exactly these records for each user.
  private func expectOneRecord(of ids: [String], for users: [String]) async throws {
    let script = """
      local wrong = {}
      for place = 2, #ARGV do
        local entries = redis.call('XRANGE', 'push:user:' .. ARGV[place] .. ':notifications', '-', '+')
        local ids = ''
        for _, entry in ipairs(entries) do ids = ids .. cjson.decode(entry[2][2]).id .. ' ' end
        if ids ~= ARGV[1] then wrong[#wrong + 1] = ARGV[place] .. ': ' .. ids end
      end
      return wrong
      """
    for start in stride(from: 0, to: users.count, by: 1000) {
      var command = RedisCommand("EVAL", script, "0", ids.map { $0 + " " }.joined())
      for user in users[start...].prefix(1000) { command.append(user) }
      let wrong = try await fleet.connection.send(command).array ?? []
      #expect(wrong.count == 0, "\(wrong.prefix(5).compactMap(\.string))")
    }
  }

  private func list(_ tokens: [String]) -> String {
    "[" + tokens.map { "\"\($0)\"" }.joined(separator: ",") + "]"
  }

  private func job(_ to: String, _ members: String = "", id: String) -> String {
    #"{"id":"\#(id)","to":{\#(to)},"title":"News"\#(members)}"#
  }

  private func deliver(_ to: String, _ members: String = "", on worker: FleetWorker) async throws -> JobRecord {
    let id = fleet.unique("polled")
    try await fleet.enqueue(job(to, members, id: id), on: worker.queue)
    return try await fleet.record(id)
  }

  /// Registers users with devices on different pages and returns their names.
  private func audience(of count: Int, devicesEach: Int, app: String, prefix: String) async throws -> [String] {
    let users = (0..<count).map { "\(prefix)-\($0)" }
    let owned = users.map { ($0, fleet.uniqueTokens(devicesEach)) }
    try await fleet.pipelined(owned) { user, tokens in
      tokens.flatMap { token in
        [
          RedisCommand("SADD", RegistryKeys.userTokens(Username(user)), token),
          RedisCommand(
            "SET", RegistryKeys.token(entry: token),
            #"{"username":"\#(user)","platform":"ios","updatedAt":1700000000000,"bundleId":"\#(app)"}"#),
          RedisCommand("ZADD", RegistryKeys.audience(app, shard: AudienceShard.shard(of: token)), "0", token),
        ]
      }
    }
    return users
  }
}

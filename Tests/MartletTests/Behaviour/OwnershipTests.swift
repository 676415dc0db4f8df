import FleetSupport
import Foundation
import Jobs
import PushModel
import Redis
import Registry
import Testing
import TestSupport

@testable import Worker

/// Stale tokens, tokens that change their owner, and the registry when APNs refuses everything.
@Suite(.serialized) struct OwnershipTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  private func exists(_ token: String) async throws -> Bool {
    try await fleet.redis("EXISTS", RegistryKeys.token(entry: token)).integer == 1
  }

  @Test func `a stale token is removed, unless it was registered after APNs' timestamp`() async throws {
    let (user, app) = (fleet.unique("alice"), "com.example.\(fleet.unique("news"))")
    let (old, new) = (fleet.uniqueToken(), fleet.uniqueToken())
    try await fleet.register([old], to: user, updatedAt: 1_700_000_000_000, bundleID: app)
    try await fleet.register([new], to: user, updatedAt: 1_700_000_000_002, bundleID: app)
    for token in [old, new] {
      try await fleet.gateway.device(token, #""rule":"unregistered","since":1700000000001"#)
    }
    let worker = try await fleet.worker()
    let id = fleet.unique("stale")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Hello"}"#, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.status == "failed")
    #expect(record.failed == 2)
    #expect(record.reasons == ["Unregistered": 2])
    try await eventually("the old token is gone") { try await !exists(old) }
    #expect(try await exists(new))
    #expect(
      try await fleet.redis("SMEMBERS", RegistryKeys.userTokens(Username(user))).array?.compactMap(\.string) == [new])
    let shard = RegistryKeys.audience(app, shard: AudienceShard.shard(of: old))
    #expect(try await fleet.redis("ZSCORE", shard, old).isNull)
    try await worker.stop()
  }

  @Test func `jobs to a user with a hundred thousand entries are delivered and delay no others`() async throws {
    let (large, user) = (fleet.unique("large"), fleet.unique("user"))
    let fill = "for i = ARGV[1], ARGV[2] do redis.call('SADD', KEYS[1], string.format('%064x', i)) end"
    for start in stride(from: 1, through: 100_001, by: 50_000) {
      let end = String(min(start + 49_999, 100_001))
      _ = try await fleet.redis("EVAL", fill, "1", RegistryKeys.userTokens(Username(large)), String(start), end)
    }
    try await fleet.register(fleet.uniqueToken(), to: large)
    try await fleet.register(fleet.uniqueToken(), to: user)
    let worker = try await fleet.worker()
    func enqueue(_ count: Int, to user: String) async throws -> [String] {
      let ids = (0..<count).map { _ in fleet.unique("job") }
      try await fleet.enqueue(
        ids.map { Array(#"{"id":"\#($0)","to":{"user":"\#(user)"},"title":"Hello"}"#.utf8) }, on: worker.queue)
      return ids
    }
    let jobs = try await enqueue(21, to: large) + enqueue(100, to: user)
    for id in jobs {
      let record = try await fleet.record(id)
      #expect(record.status == "accepted" && record.attempts == 1)
    }
    #expect(try await fleet.redis("SCARD", RegistryKeys.userTokens(Username(large))).integer == 1)
    try await worker.stop()
  }

  @Test func `a job whose devices cannot be read uses up its attempts, and the next job is delivered`() async throws {
    let (large, user) = (fleet.unique("large"), fleet.unique("user"))
    let token = fleet.uniqueToken()
    try await fleet.redis("SADD", RegistryKeys.userTokens(Username(large)), token)
    try await fleet.redis("SETRANGE", RegistryKeys.token(entry: token), "70000000", "x")
    try await fleet.register(fleet.uniqueToken(), to: user)
    let worker = try await fleet.worker(["MARTLET_MAX_ATTEMPTS": "1"])
    let (first, second) = (fleet.unique("unreadable"), fleet.unique("readable"))
    for (id, user) in [(first, large), (second, user)] {
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Hello"}"#, on: worker.queue)
    }
    #expect(try await fleet.record(second).status == "accepted")
    let record = try await fleet.record(first)
    #expect(record.status == "dead")
    #expect(record.reason?.contains("larger than") == true)
    try await fleet.redis("DEL", RegistryKeys.token(entry: token))
    try await worker.stop()
  }

  @Test func `a device that changes its owner while its push waits for a retry is not sent to`() async throws {
    let (user, thief) = (fleet.unique("alice"), fleet.unique("bob"))
    let token = fleet.uniqueToken()
    try await fleet.register(token, to: user)
    try await fleet.gateway.device(token, #""rule":"fixed","status":503,"retryAfter":2"#)
    let worker = try await fleet.worker()
    let id = fleet.unique("moved")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Secret"}"#, on: worker.queue)
    _ = try await fleet.record(id, "postponed") { $0.status == "retrying" }
    try await fleet.register(token, to: thief, updatedAt: 1_800_000_000_000)
    try await fleet.gateway.clearDevices()
    let record = try await fleet.record(id)
    #expect(record.status == "no_devices")
    #expect(try await fleet.gateway.ledger().accepted == 0)
    #expect(try await exists(token))
    try await worker.stop()
  }

  private func refuse(_ tokens: [String], of user: (Int) -> String, _ worker: FleetWorker) async throws {
    for (number, token) in tokens.enumerated() {
      try await fleet.register(token, to: user(number))
      try await fleet.gateway.device(token, #""rule":"bad""#)
    }
    let jobs = tokens.enumerated().map { number, token in
      #"{"id":"bad-\#(token)","to":{"user":"\#(user(number))","token":"\#(token)"},"title":"Hello"}"#
    }
    try await fleet.enqueue(jobs.map { Array($0.utf8) }, on: worker.queue)
    try await fleet.settled(worker.queue)
  }

  @Test func `when the tokens of many users look invalid, they are kept and sending continues`() async throws {
    let (name, tokens) = (fleet.unique("alice"), fleet.uniqueTokens(60))
    let worker = try await fleet.worker(["MARTLET_CONCURRENCY": "1"])
    try await refuse(tokens, of: { "\(name)-\($0)" }, worker)
    var kept = 0
    for token in tokens where try await exists(token) { kept += 1 }
    // The guard needs 20 users.
    #expect(kept >= 60 - 20)
    #expect(worker.process.lines.count { $0.contains("most tokens look invalid") } == 1)
    #expect(try await worker.get("/metrics").body.contains("martlet_apns_stopped_removals{environment="))
    #expect(try await fleet.gateway.ledger().received == 60)
    let id = fleet.unique("good")
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello"}"#, on: worker.queue)
    #expect(try await fleet.record(id).status == "accepted")
    try await worker.stop()
  }

  @Test func `the invalid tokens of one user are removed and do not affect other users`() async throws {
    let (mallory, tokens) = (fleet.unique("mallory"), fleet.uniqueTokens(60))
    let worker = try await fleet.worker()
    try await refuse(tokens, of: { _ in mallory }, worker)
    try await eventually("all are removed") {
      try await fleet.redis("SCARD", RegistryKeys.userTokens(Username(mallory))).integer == 0
    }
    #expect(!worker.process.lines.contains { $0.contains("most tokens look invalid") || $0.contains("route paused") })
    let id = fleet.unique("good")
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello"}"#, on: worker.queue)
    #expect(try await fleet.record(id).status == "accepted")
    try await worker.stop()
  }

  @Test(arguments: ["X", "BadDeviceToken", "DeviceTokenNotForTopic", ""])
  func `a 410 for a reason that Apple does not document removes nothing`(reason: String) async throws {
    let (user, token, id) = (fleet.unique("alice"), fleet.uniqueToken(), fleet.unique("gone"))
    try await fleet.register(token, to: user)
    try await fleet.gateway.device(token, #""rule":"fixed","status":410,"reason":"\#(reason)""#)
    let worker = try await fleet.worker()
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Hello"}"#, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.status == "failed")
    #expect(record.stale == 0)
    #expect(try await exists(token))
    try await worker.stop()
  }

  @Test func `a 410 with a future timestamp removes the token, unless it was registered since the push`() async throws {
    let (user, token) = (fleet.unique("alice"), fleet.uniqueToken())
    let device = Device(token: DeviceToken(token), username: Username(user), updatedAt: 1_700_000_000_000)
    let since = Int64(Date().timeIntervalSince1970 * 1000) + 86_400_000
    #expect(device.latestStale(since) == device.updatedAt)
    #expect(device.latestStale(nil) == device.updatedAt)
    #expect(device.latestStale(0) == 0, "it was registered since")
    #expect(device.latestStale(-1) == -1)
    try await fleet.register(token, to: user)
    try await fleet.gateway.device(token, #""rule":"unregistered","since":\#(since)"#)
    let worker = try await fleet.worker()
    try await fleet.enqueue(#"{"to":{"user":"\#(user)"},"title":"Hello"}"#, on: worker.queue)
    try await eventually("it is removed") { try await !exists(token) }
    try await worker.stop()
  }
}

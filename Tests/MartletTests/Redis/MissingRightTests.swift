import FleetSupport
import Foundation
import Redis
import Testing
import TestSupport

@testable import Queue

/// Operators may take rights from a user of Redis while a worker runs.
@Suite(.serialized) struct MissingRightTests {
  private static let queue = "push:jobs"
  private static let user = "martlet-worker"
  private static let refusals = #"martlet_redis_refusals_total{code="NOPERM"}"#

  private func shop() async throws -> Fleet {
    let users = try await RedisUsers()
    let redis = try await RedisServer(users.arguments)
    return try await Fleet(redis: redis, url: users.url(of: Self.user, on: redis))
  }

  /// A job of each kind: it ends at once, writes a reply, waits for its time, is of a user, is not valid.
  private func enqueue(_ round: Int, _ tokens: [String], on fleet: Fleet) async throws {
    try await fleet.register([tokens[3]], to: "user-\(round)", bundleID: "com.example.app")
    let soon = Int(Date().timeIntervalSince1970 * 1000) + 300
    try await fleet.enqueue(
      #"{"id":"plain-\#(round)","to":{"token":"\#(tokens[0])"},"title":"a"}"#,
      #"{"id":"reply-\#(round)","to":{"token":"\#(tokens[1])"},"title":"a","replyTo":"push:replies:rights"}"#,
      #"{"id":"later-\#(round)","to":{"token":"\#(tokens[2])"},"title":"a","sendAt":\#(soon)}"#,
      #"{"id":"user-\#(round)","to":{"user":"user-\#(round)"},"title":"a"}"#,
      #"{"id":"broken-\#(round)","#, on: Self.queue)
  }

  /// Whether each of the tokens has got its push, and each round has left its dead letter.
  private func isOver(_ rounds: Int, _ tokens: [String], on fleet: Fleet) async throws -> Bool {
    let accepted = try await fleet.gateway.recent().filter { $0.status == 200 }.compactMap(\.token)
    return try await fleet.deadLetters(Self.queue).count == rounds && Set(tokens).isSubset(of: accepted)
  }

  @Test func `a right that is taken away loses no job, sends none twice, and is told`() async throws {
    let fleet = try await shop()
    let worker = try await fleet.worker(on: Self.queue)
    let rights = [
      "set", "zadd", "rpush", "lpush", "lrem", "ltrim", "zrem", "zrange", "srandmember", "mget", "lmove", "rpop",
      "evalsha",
    ]
    let tokens = fleet.uniqueTokens(4 * rights.count)
    for (round, right) in rights.enumerated() {
      let refused = try await worker.metric(Self.refusals) ?? 0
      try await fleet.redis("ACL", "SETUSER", Self.user, "-\(right)")
      let due = Array(tokens.prefix(4 * (round + 1)))
      try await enqueue(round, Array(due.suffix(4)), on: fleet)
      try await eventually("the worker misses \(right), or does not need it") {
        let isRefused = try await (worker.metric(Self.refusals) ?? 0) > refused
        return try await isRefused ? true : isOver(round + 1, due, on: fleet)
      }
      try await fleet.redis("ACL", "SETUSER", Self.user, "+\(right)")
      try await eventually("every job ends when \(right) is back") { try await isOver(round + 1, due, on: fleet) }
    }
    try await fleet.settled(Self.queue)
    let accepted = try await fleet.gateway.recent().filter { $0.status == 200 }
    #expect(accepted.count == tokens.count)
    #expect(worker.count(of: "does not let its user run a command") > 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a worker whose user lacks a right says which in its readiness`() async throws {
    let fleet = try await shop()
    let worker = try await fleet.worker(on: Self.queue)
    try await fleet.redis("ACL", "SETUSER", Self.user, "-srandmember")
    try await fleet.register([fleet.uniqueToken()], to: "alice", bundleID: "com.example.app")
    try await fleet.enqueue(#"{"id":"waits","to":{"user":"alice"},"title":"a"}"#, on: Self.queue)
    try await eventually("it is told") {
      try await worker.get("/readyz").body.contains("srandmember") && worker.count(of: "srandmember") >= 1
    }
    try await fleet.redis("ACL", "SETUSER", Self.user, "+srandmember")
    #expect(try await fleet.record("waits", "ends") { $0.status == "accepted" }.status == "accepted")
    #expect(try await worker.stop() == 0)
  }
}

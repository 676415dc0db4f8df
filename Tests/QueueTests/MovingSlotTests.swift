import EventLoop
import Redis
import RedisSupport
import TestSupport
import Testing

@testable import Queue

/// The scripts on a real cluster, at a server that is about to give their slot to another one. Redis then refuses to
/// access a key that the script itself has emptied.
@EventLoop
@Suite(.serialized)
struct MovingSlotTests {
  private let cluster: RedisCluster
  private let connection: RedisClient
  private let keys = QueueKeys(queue: "jobs")

  init() async throws {
    cluster = try await RedisCluster(replicas: 0)
    connection = try await RedisClient.connected(to: cluster.url)
    for key in [keys.queue, keys.inflight("w"), keys.landing("w")] { try await send("RPUSH", key, "a") }
    for key in [keys.retry, keys.scheduled, keys.dead] { try await send("ZADD", key, "1", "a") }
    for key in [keys.heartbeat("w"), keys.promoter] { try await send("SET", key, "w") }
    try await send("SET", keys.seal, "s3al")
    // While a slot moves, Redis refuses a script of which some keys are missing.
    try await send("SET", keys.control, "1 Z")
    try await send("ZADD", keys.cancelled, "1", "a")
    for key in [keys.workers, keys.drained] { try await send("SADD", key, "w") }
  }

  @discardableResult
  private func send(_ name: StaticString, _ words: String...) async throws -> RedisValue {
    try await connection.send(RedisCommand(name, words))
  }

  /// Calls `body` while all keys are still at the old server, and again from there to the new one.
  private func whileMoving(_ body: () async throws -> Void) async throws {
    let slot = HashSlot.of(keys.queue)
    let old = try await cluster.primary(ofSlot: slot)
    let new = try #require(cluster.nodes.first { $0 !== old })
    try await cluster.move(slot: slot, to: new, part: 0) { try await body() }
  }

  @Test(arguments: [false, true]) func `a claim takes the last job`(isLanded: Bool) async throws {
    try await whileMoving {
      let answer = try await connection.send(
        keys.claim(landed: isLanded, by: "w", upTo: 10, noncePrefix: "p.", .atLeastOnce))
      #expect(ClaimAnswer(answer, queue: keys.queue)?.elements.count == 1)
    }
    #expect(try await send("LLEN", keys.inflight("w")).integer == 2)
  }

  @Test func `the last due jobs are promoted`() async throws {
    try await whileMoving {
      let answer = try await connection.send(keys.promote(by: "w"))
      #expect(answer == .array([.integer(2), .integer(-1), .bytes(Array("1 Z".utf8))]))
    }
    #expect(try await send("LLEN", keys.queue).integer == 3)
  }

  @Test func `the last jobs in hand are handed back`() async throws {
    try await whileMoving {
      let answer = try await connection.send(
        QueueScripts.handBackAll(
          inflight: keys.inflight("w"), landing: keys.landing("w"), queue: keys.queue, seal: keys.seal, most: 10))
      #expect(answer.integer == 2)
    }
    #expect(try await send("LLEN", keys.queue).integer == 3)
  }

  @Test func `the last scheduled jobs are replaced`() async throws {
    let elements = ["p", "q"].map { Envelope(nonce: $0, job: Array($0.utf8)).element }
    try await send("DEL", keys.scheduled)
    for (id, element) in zip(["p", "q"], elements) {
      _ = try await connection.send(RedisCommand("ZADD", keys.scheduled, "7").with(element))
      _ = try await connection.send(
        RedisCommand("SET", keys.due(id)).with(Array("s 7 ".utf8) + DueLocator.head(element)))
    }
    try await send("HSET", keys.pauses, "x", "{}")
    try await whileMoving {
      let ids = ["p", "q", "p", "q"]
      let answer = try await connection.send(
        QueueScripts.screen(
          cancelled: keys.cancelled, pauses: keys.pauses, scheduled: keys.scheduled,
          locators: RedisList(ids.map(keys.due)),
          ids: RedisList(ids)))
      #expect(answer == .array([.integer(0), .integer(0), .integer(0), .integer(0)]))
    }
    #expect(try await send("EXISTS", keys.scheduled).integer == 0)
  }
}

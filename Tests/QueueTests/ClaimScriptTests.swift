import EventLoop
import QueueSupport
import Redis
import Telemetry
import TestSupport
import Testing

@testable import Jobs
@testable import Queue

/// The claiming script, on a real Redis.
@EventLoop
@Suite(.serialized)
struct ClaimScriptTests: QueueScriptTests {
  let redis: QueueServer

  init() async throws { redis = try await Self.server() }

  private func jobs(_ answer: ClaimAnswer?) -> [String] {
    (answer?.elements ?? []).map { String(decoding: Envelope(element: $0).job, as: UTF8.self) }
  }

  private var oversized: String { String(repeating: "x", count: Job.maximumBytes + 1) }

  @Test func `jobs are claimed oldest first and are in flight`() async throws {
    for job in ["a", "b", "c"] { try await send("LPUSH", keys.queue, job) }
    let answer = try await claim(upTo: 2)
    #expect(jobs(answer) == ["a", "b"])
    #expect(answer?.elements.map { Envelope(element: $0).nonce } == ["p.1", "p.2"])
    #expect(try await send("LLEN", keys.inflight("w")).integer == 2)
    #expect(try await send("LLEN", keys.queue).integer == 1)
  }

  @Test func `the oldest job is read without being claimed, unless it is large or the fleet's own`() async throws {
    func oldest() async throws -> RedisValue {
      try await connection.send(QueueScripts.oldest(queue: keys.queue, seal: keys.seal, limit: Job.maximumBytes))
    }
    #expect(try await oldest() == .null)
    for job in ["a", "b"] { try await send("LPUSH", keys.queue, job) }
    #expect(try await oldest().string == "a")
    try await send("RPUSH", keys.queue, "MARTLET s3al MARTLET1 0 0 n 0\na")
    #expect(try await oldest() == .null)
    try await send("RPUSH", keys.queue, "MARTLET other MARTLET1 0 0 n 0\na")
    #expect(try await oldest().string == "MARTLET other MARTLET1 0 0 n 0\na")
    try await send("RPUSH", keys.queue, oversized)
    #expect(try await oldest() == .integer(Int64(oversized.utf8.count)))
    #expect(try await send("LLEN", keys.queue).integer == 5)
  }

  @Test func `at most once, a claimed job is gone from Redis`() async throws {
    try await send("LPUSH", keys.queue, "a")
    #expect(jobs(try await claim(mode: .atMostOnce)) == ["a"])
    #expect(try await send("EXISTS", keys.queue, keys.inflight("w")).integer == 0)
  }

  @Test func `nothing is claimed without a heartbeat or a seal`() async throws {
    try await send("LPUSH", keys.queue, "a")
    try await send("DEL", keys.seal)
    #expect(try await claim() == nil)
    #expect(try await claim(by: "gone") == nil)
    #expect(try await send("LLEN", keys.queue).integer == 1)
  }

  @Test func `an oversized job that cannot be buried does not keep landed jobs behind it`() async throws {
    try await send("SET", keys.dead, "another type")
    for job in [oversized, "a", "b"] { try await send("LPUSH", keys.landing("w"), job) }
    let first = try await claim(landed: true, upTo: 1)
    #expect(first?.isStuck == true)
    #expect(jobs(first) == ["a"])
    #expect(jobs(try await claim(landed: true)) == ["b"])
    #expect(try await claim(landed: true)?.isStuck == true)
    #expect(try await send("LLEN", keys.landing("w")).integer == 1)
    // As soon as the key is renamed, it is buried.
    try await send("DEL", keys.dead)
    #expect(try await claim(landed: true)?.oversized.count == 1)
    #expect(try await send("ZCARD", keys.dead).integer == 1)
    #expect(try await send("EXISTS", keys.landing("w")).integer == 0)
  }

  @Test func `an oversized job that cannot be buried stays at the front of the queue`() async throws {
    try await send("SET", keys.dead, "another type")
    for job in [oversized, "a"] { try await send("LPUSH", keys.queue, job) }
    #expect(try await claim()?.isStuck == true)
    #expect(try await send("LRANGE", keys.queue, "0", "0") == .array([.bytes(Array("a".utf8))]))
    #expect(try await send("LLEN", keys.queue).integer == 2)
  }

  @Test func `with nothing landed, the error of the move before it is reported`() async throws {
    #expect(try await claim(landed: true)?.isEmpty == true)
    try await fill()
    let full = await #expect(throws: RedisError.self) { try await claim(landed: true) }
    #expect(full.map { "\($0)".contains("OOM") } == true, "\(String(describing: full))")
    try await send("CONFIG", "SET", "maxmemory", "0")
    try await send("SET", keys.queue, "another type")
    let wrongType = await #expect(throws: RedisError.self) { try await claim(landed: true) }
    #expect(wrongType?.isWrongType == true)
  }

  @Test func `jobs are claimed while the memory of Redis is full`() async throws {
    try await send("LPUSH", keys.queue, "a")
    try await send("LPUSH", keys.landing("w"), "b")
    try await fill()
    #expect(jobs(try await claim()) == ["a"])
    #expect(jobs(try await claim(landed: true)) == ["b"])
  }
}

import EventLoop
import QueueSupport
import Redis
import Testing

@testable import Operations
@testable import Queue

/// Acting on selected letters, and on all that match, on a real Redis.
@EventLoop
@Suite(.serialized)
struct DeadLetterSweepTests {
  private let redis: QueueServer

  init() async throws {
    redis = try await QueueServer()
  }

  private func sweep(
    _ verb: DeadLetterVerb?, _ filter: DeadLetterFilter = DeadLetterFilter(), limit: Int = .max,
    time: Duration = .seconds(600)
  ) async -> DeadLetterSweep {
    await DeadLetterSweep.run(
      verb, filter, limit: limit, queues: [redis.keys.queue], connection: redis.connection, time: time)
  }

  @Test func `a letter that a page showed is found again, and only that one`() async throws {
    for number in 10..<30 { try await redis.bury("j\(number)", at: 5) }
    let shown = try await redis.browser.dead(limit: 20).jobs
    let twentieth = try #require(shown.first { $0.id == "j20" }?.reference)
    // Others come and go before it.
    for id in ["j21", "j29"] {
      let reference = try #require(shown.first { $0.id == id }?.reference)
      let entry = try #require(try await redis.letters.entry(reference))
      #expect(try await redis.letters.act(.purge, on: entry))
    }
    try await redis.bury("z", at: 5)
    let entry = try #require(try await redis.letters.entry(twentieth))
    #expect(entry.letter.id == "j20")
    #expect(try await redis.letters.act(.requeue, on: entry))
    #expect(try await redis.letters.entry(twentieth) == nil)
    #expect(try await redis.letters.act(.requeue, on: entry) == false)
    #expect(try await redis.length("LLEN", redis.keys.queue) == 1)
  }

  @Test func `a dead job that is requeued is not cancelled any more, and others are`() async throws {
    try await redis.bury("a", at: 77)
    for id in ["a", "b"] {
      _ = try await redis.connection.send(
        OperationsScripts.mark(
          control: redis.keys.control, cancelled: redis.keys.cancelled, id: id, ttl: 3_600_000, most: 100))
    }
    let letter = try #require(try await redis.letters.page(from: 0).first?.letter)
    #expect(try await redis.letters.act(.requeue, on: letter))
    #expect(try await redis.send("ZRANGE", redis.keys.cancelled, "0", "-1").array?.map(\.string) == ["b"])
    #expect(try await redis.send("EXISTS", redis.keys.control).integer == 1)
    #expect(try await redis.send("LLEN", redis.keys.queue).integer == 1)
  }

  @Test func `a letter of two megabytes is found, and requeued whole`() async throws {
    try await redis.bury("long", at: 5, job: String(repeating: "x", count: 2_000_000))
    let reference = try #require(try await redis.browser.dead(limit: 1).jobs.first?.reference)
    let entry = try #require(try await redis.letters.entry(reference))
    #expect(entry.missingBytes > 1_900_000)
    #expect(try await redis.letters.act(.requeue, on: entry))
    #expect(try await redis.browser.waiting(.front, limit: 1).first?.jobBytes == 2_000_000)
  }

  @Test func `all that match are requeued, page by page, and the others stay`() async throws {
    for number in 0..<450 {
      try await redis.bury("j\(number)", reason: number % 3 == 0 ? "kept" : "taken", at: Int64(number / 50))
    }
    try await redis.add(Array("another program's".utf8), to: redis.keys.dead, score: 5)
    let taken = DeadLetterFilter(reason: "taken")
    #expect(await sweep(nil, taken) == DeadLetterSweep(done: 300))
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 451)
    #expect(await sweep(.requeue, taken) == DeadLetterSweep(done: 300))
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 151)
    #expect(try await redis.length("LLEN", redis.keys.queue) == 300)
  }

  @Test func `no more than the limit are taken`() async throws {
    for number in 0..<300 { try await redis.bury("j\(number)", at: Int64(number)) }
    #expect(await sweep(nil, limit: 250) == DeadLetterSweep(done: 250))
    #expect(await sweep(.purge, limit: 250) == DeadLetterSweep(done: 250))
    #expect(try await redis.browser.dead(limit: 1).jobs.first?.id == "j49")
  }

  @Test func `only letters of the time that was asked for are purged`() async throws {
    for number in 0..<300 { try await redis.bury("j\(number)", at: Int64(number)) }
    #expect(await sweep(.purge, DeadLetterFilter(since: 10, until: 259)) == DeadLetterSweep(done: 250))
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 50)
    #expect(try await redis.length("LLEN", redis.keys.queue) == 0)
  }

  @Test func `a sweep whose time is over says what is left, and the next one continues`() async throws {
    for number in 0..<450 {
      try await redis.bury("j\(number)", reason: number < 230 ? "taken" : "kept", at: Int64(number))
    }
    let filter = DeadLetterFilter(reason: "taken", since: 10)
    // It looks behind those that do not match until it has something to do.
    let first = await sweep(.requeue, filter, time: .zero)
    #expect(first == DeadLetterSweep(done: 180, left: 40))
    #expect(await sweep(.requeue, filter, time: .zero) == DeadLetterSweep(done: 40))
    #expect(try await redis.length("LLEN", redis.keys.queue) == 220)
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 230)
  }

  @Test func `a sweep fails with a reason if the queue is not a list, and nothing is lost`() async throws {
    for number in 0..<5 { try await redis.bury("j\(number)", at: Int64(number)) }
    try await redis.send("SET", redis.keys.queue, "another type")
    let failed = await sweep(.requeue)
    #expect(failed.done == 0)
    #expect(failed.fault?.isWrongType == true)
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 5)
    // Purging needs no queue.
    #expect(await sweep(.purge) == DeadLetterSweep(done: 5))
  }

  @Test func `letters are purged while the memory of Redis is full`() async throws {
    for number in 0..<5 { try await redis.bury("j\(number)", at: Int64(number)) }
    try await redis.send("SET", "filling", String(repeating: "x", count: 200_000))
    try await redis.send("CONFIG", "SET", "maxmemory", "100kb")
    #expect(await sweep(.purge) == DeadLetterSweep(done: 5))
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 0)
  }
}

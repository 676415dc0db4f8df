import EventLoop
import Redis
import Testing

@testable import Queue

/// Acting on selected letters, and on all that match, on a real Redis.
@EventLoop
@Suite(.serialized)
struct DeadLetterOperationTests {
  private let redis: QueueServer

  init() async throws {
    redis = try await QueueServer()
  }

  private func operation(
    _ verb: DeadLetterVerb, _ filter: DeadLetterFilter = DeadLetterFilter(), owner: String = "me"
  ) -> DeadLetterOperation {
    DeadLetterOperation(
      verb: verb, queues: [redis.keys.queue], filter: filter, operatorName: "olga", total: 500, owner: owner,
      now: Clock.unixMilliseconds)
  }

  private var operations: DeadLetterOperations { DeadLetterOperations(connection: redis.connection) }

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
    let run = DeadLetterRun(operation(.requeue, DeadLetterFilter(reason: "taken")), connection: redis.connection)
    #expect(try await operations.save(run.operation, isNew: true) == .goOn)
    await run.run()
    #expect(run.operation.phase == .done)
    #expect((run.operation.done, run.operation.gone, run.operation.examined) == (300, 0, 451))
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 151)
    #expect(try await redis.length("LLEN", redis.keys.queue) == 300)
    let stored = try await operations.operation(run.operation.id)
    #expect(stored == run.operation)
  }

  @Test func `only letters of the time that was asked for are purged`() async throws {
    for number in 0..<300 { try await redis.bury("j\(number)", at: Int64(number)) }
    let run = DeadLetterRun(operation(.purge, DeadLetterFilter(since: 10, until: 259)), connection: redis.connection)
    _ = try await operations.save(run.operation, isNew: true)
    await run.run()
    #expect(run.operation.done == 250)
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 50)
    #expect(try await redis.length("LLEN", redis.keys.queue) == 0)
  }

  @Test func `an operation stops after its page, and goes on where it stopped`() async throws {
    for number in 0..<450 { try await redis.bury("j\(number)", at: Int64(number)) }
    let run = DeadLetterRun(operation(.requeue), connection: redis.connection)
    _ = try await operations.save(run.operation, isNew: true)
    try await operations.stop(run.operation.id)
    await run.run()
    #expect(run.operation.phase == .stopped)
    #expect(run.operation.done == 200)
    var next = try #require(try await operations.operation(run.operation.id))
    #expect(next.canContinue(now: Clock.unixMilliseconds))
    next.phase = .running
    next.owner = "another"
    #expect(try await operations.save(next, previousOwner: "me") == .goOn)
    let continued = DeadLetterRun(next, connection: redis.connection)
    await continued.run()
    #expect(continued.operation.phase == .done)
    #expect(continued.operation.done == 450)
    #expect(try await redis.length("LLEN", redis.keys.queue) == 450)
    // The first process learns that it lost it.
    #expect(try await operations.save(run.operation) == .leave)
  }

  @Test func `an operation fails with a reason if the queue is not a list, and nothing is lost`() async throws {
    for number in 0..<5 { try await redis.bury("j\(number)", at: Int64(number)) }
    try await redis.send("SET", redis.keys.queue, "another type")
    let run = DeadLetterRun(operation(.requeue), connection: redis.connection)
    _ = try await operations.save(run.operation, isNew: true)
    await run.run()
    #expect(run.operation.phase == .failed)
    #expect(run.operation.fault?.contains("WRONGTYPE") == true)
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 5)
    // Purging needs no queue.
    let purge = DeadLetterRun(operation(.purge), connection: redis.connection)
    _ = try await operations.save(purge.operation, isNew: true)
    await purge.run()
    #expect(purge.operation.done == 5)
  }

  @Test func `letters are purged while the memory of Redis is full`() async throws {
    for number in 0..<5 { try await redis.bury("j\(number)", at: Int64(number)) }
    let run = DeadLetterRun(operation(.purge), connection: redis.connection)
    _ = try await operations.save(run.operation, isNew: true)
    try await redis.send("SET", "filling", String(repeating: "x", count: 200_000))
    try await redis.send("CONFIG", "SET", "maxmemory", "100kb")
    await run.run()
    #expect(run.operation.phase == .done)
    #expect(try await redis.length("ZCARD", redis.keys.dead) == 0)
  }

  @Test func `an operation without a sign of life is interrupted`() {
    var operation = operation(.purge)
    #expect(!operation.isInterrupted(now: operation.updatedAt + 10_000))
    #expect(operation.isInterrupted(now: operation.updatedAt + 16_000))
    operation.phase = .done
    #expect(!operation.canContinue(now: operation.updatedAt + 16_000))
  }

  @Test func `an operation is read as it was stored, and a forged one is not`() throws {
    var operation = operation(.purge, DeadLetterFilter(reason: "a \"b\"", app: "com.x", since: 1, until: 2))
    operation.position = SortedPosition(score: 5, skip: 2)
    operation.fail("why")
    #expect(DeadLetterOperation(json: operation.json()) == operation)
    for text in ["", "{}", "1", #"{"id":"a","verb":"send","queues":["q"],"phase":"running"}"#] {
      #expect(DeadLetterOperation(json: Array(text.utf8)) == nil)
    }
  }

  @Test func `few operations are kept`() async throws {
    for _ in 0..<25 {
      try await operations.makeRoom()
      _ = try await operations.save(operation(.purge), isNew: true)
    }
    #expect(try await operations.list().count == 20)
  }
}

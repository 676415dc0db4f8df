import EventLoop
import QueueSupport
import Redis
import Testing

@testable import Operations
@testable import Queue

/// Redis does not take back what a script wrote before its error: a key of another type must cost nothing.
extension ControlScriptTests {
  /// Makes a key a string, or a list if it is one.
  private func spoil(_ key: String, asList: Bool = false) async throws {
    try await send("DEL", key)
    if asList { try await send("LPUSH", key, "another type") } else { try await send("SET", key, "another type") }
  }

  @Test func `a dead letter that cannot be requeued stays`() async throws {
    try await redis.bury("a", at: 77)
    try await send("ZADD", keys.cancelled, "4000000000000", "a")
    try await spoil(keys.seal, asList: true)
    let letter = try #require(try await redis.letters.page(from: 0).first?.letter)
    let error = await #expect(throws: RedisError.self) { try await redis.letters.act(.requeue, on: letter) }
    #expect(error?.isWrongType == true)
    #expect(try await send("ZCARD", keys.dead).integer == 1)
    #expect(try await send("ZCARD", keys.cancelled).integer == 1)
    #expect(try await redis.letters.act(.purge, on: letter))
  }

  @Test func `a job that cannot be run before its time stays scheduled`() async throws {
    try await schedule("later", nonce: "n")
    try await spoil(keys.seal, asList: true)
    let error = await #expect(throws: RedisError.self) { try await jobs.runNow("later") }
    #expect(error?.isWrongType == true)
    #expect(try await send("ZCARD", keys.scheduled).integer == 1)
    #expect(try await send("EXISTS", keys.due("later")).integer == 1)
  }

  @Test(arguments: [true, false])
  func `a broadcast that cannot be resumed stays paused`(isSealWrong: Bool) async throws {
    try await writeState("b", .running)
    #expect(try await jobs.pause(broadcast: "b", by: "anna") == .paused)
    try await settle(.pause, as: element("b", nonce: "n"), "b")
    try await send("ZADD", keys.cancelled, "4000000000000", "b")
    try await spoil(isSealWrong ? keys.seal : keys.scheduled, asList: true)
    let error = await #expect(throws: RedisError.self) { try await jobs.resume(broadcast: "b") }
    #expect(error?.isWrongType == true)
    #expect(try await send("HLEN", keys.pauses).integer == 1)
    #expect(try await send("ZCARD", keys.cancelled).integer == 1)
    if isSealWrong { #expect(try await send("ZCARD", keys.scheduled).integer == 1) }
  }

  @Test func `a job that is retried and cannot replace the scheduled one stays in flight`() async throws {
    try await spoil(keys.scheduled)
    try await send("SET", keys.due("a"), "s 4000000000000 MARTLET1")
    let claimed = element("a", nonce: "n")
    _ = try await connection.send(RedisCommand("LPUSH", keys.inflight("w")).with(claimed))
    var settlement = Settlement(.retry(delay: .seconds(1)), as: claimed)
    settlement.locator = Settlement.Locator(jobID: "a", isProducers: true, replaces: true)
    let claim = Claim(queueIndex: 0, element: claimed, nonce: "n", now: 0, monotonic: 0)
    let call = settlement.call(of: claim, keys, worker: "w", .atLeastOnce, seal: "s3al", replyTo: nil, events: [])
    let error = await #expect(throws: RedisError.self) { try await connection.send(call) }
    #expect(error?.isWrongType == true)
    #expect(try await send("LLEN", keys.inflight("w")).integer == 1)
    #expect(try await send("EXISTS", keys.retry).integer == 0)
  }

  @Test(arguments: [false, true])
  func `jobs that a worker cannot hold go back to their places`(landed: Bool) async throws {
    let source = landed ? keys.landing("w") : keys.queue
    for job in ["a", "b", "c"] { try await send("LPUSH", source, job) }
    try await spoil(keys.inflight("w"))
    let error = await #expect(throws: RedisError.self) { try await claim(landed: landed, upTo: 2) }
    #expect(error?.isWrongType == true)
    #expect(try await send("LLEN", source).integer == 3)
    try await send("DEL", keys.inflight("w"))
    let answer = try await claim(landed: landed)
    #expect(answer?.elements.map { String(decoding: Envelope(element: $0).job, as: UTF8.self) } == ["a", "b", "c"])
  }

  @Test func `counters are added to the minute and the hour, or to neither`() async throws {
    let (minute, hour) = (CounterKeys.minute(1), CounterKeys.hour(1))
    try await spoil(hour)
    let now = try #require(try await send("TIME").array?.first?.string.flatMap(Int64.init)) / 60
    func add(_ number: Int64) async throws -> RedisValue {
      try await connection.send(
        QueueScripts.addCounters(
          minute: minute, hour: hour, number: number, minuteLife: 60, hourLife: 60, most: 10,
          watched: CounterField.recordBytes, additions: RedisList(["claimed", "", "1"])))
    }
    let error = await #expect(throws: RedisError.self) {
      // The minute may end between the two.
      for number in now...(now + 1) { _ = try await add(number) }
    }
    #expect(error?.isWrongType == true)
    #expect(try await send("EXISTS", minute).integer == 0)
  }
}

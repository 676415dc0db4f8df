import EventLoop
import Jobs
import Redis
import Telemetry
import TestSupport
import Testing

@testable import Operations
@testable import Queue

/// The counters of the fleet, on a real Redis.
@EventLoop
@Suite(.serialized)
struct CounterHistoryTests {
  private let server: RedisServer
  private let connection: RedisClient

  init() async throws {
    server = try await RedisServer()
    connection = try CounterHistoryTests.connect(to: server)
    try await connection.ready(within: patience)
  }

  private static func connect(to server: RedisServer) throws -> RedisClient {
    let connection = RedisClient(
      endpoint: try RedisEndpoint(url: server.url), name: "martlet", timeout: patience, log: .silent)
    connection.start()
    return connection
  }

  /// Waits until the counters of the last minutes are as expected.
  private func eventually(
    _ what: String, _ span: CounterHistory.Span = .minutes(3), _ condition: (CounterBucket) -> Bool
  ) async throws {
    try await TestSupport.eventually(what) {
      condition(.sum(try await CounterHistory.read(last: span, connection: connection)))
    }
  }

  private func total() async throws -> CounterBucket {
    .sum(try await CounterHistory.read(last: .minutes(3), connection: connection))
  }

  /// At the server of the counters.
  private func limitMemory(_ bytes: String) async {
    await withCheckedContinuation { continuation in
      let command = RedisCommand("CONFIG", "SET", "maxmemory", bytes)
      connection.send(command, toServerOf: CounterKeys.minute(0)) { _ in continuation.resume() }
    }
  }

  @Test func `an empty Redis has empty buckets in their order`() async throws {
    let buckets = try await CounterHistory.read(last: .minutes(60), connection: connection)
    #expect(buckets.count == 60)
    #expect(buckets.allSatisfy { $0.isEmpty })
    #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $1.start - $0.start == 60 })
    let hours = try await CounterHistory.read(last: .hours(1000), connection: connection)
    #expect(hours.count == 72)
    #expect(zip(hours, hours.dropFirst()).allSatisfy { $1.start - $0.start == 3600 })
  }

  @Test func `the counts of several workers add up, in the minute and in the hour`() async throws {
    let workers = (0..<3).map { _ in FleetCounters(connection: connection, queues: ["push:jobs"]) }
    for worker in workers {
      worker.claimed(5, queueIndex: 0)
      worker.ended(.accepted, latency: 12)
      worker.pushed(.accepted, app: "com.example.app")
      worker.refused(because: "TooManyRequests")
      worker.write()
    }
    for span in [CounterHistory.Span.minutes(3), .hours(2)] {
      try await eventually("all are written", span) { $0.jobs[.accepted] == 3 }
      let sum = CounterBucket.sum(try await CounterHistory.read(last: span, connection: connection))
      #expect(sum.claims == ["push:jobs": 15])
      #expect(sum.apps["com.example.app"]?.accepted == 3)
      #expect(sum.refusals == ["TooManyRequests": 3])
      #expect((sum.latency.count, sum.latency.sum) == (3, 36))
    }
  }

  @Test func `the clock of Redis decides about the minute`() async throws {
    let wrong = FleetCounters(connection: connection, queues: [], minuteOffset: -100_000)
    for _ in 1...3 {
      wrong.ended(.dead)
      wrong.write()
    }
    try await eventually("they are in the present minute") { $0.jobs[.dead] ?? 0 >= 1 }
    wrong.write()
    try await eventually("nothing is lost") { $0.jobs[.dead] == 3 }
    let keys = try await connection.send(
      RedisCommand("EXISTS", CounterKeys.minute(Clock.unixMilliseconds / 60_000 - 100_000)))
    #expect(keys.integer == 0)
  }

  @Test func `what Redis did not take is written later, once`() async throws {
    let closed = try CounterHistoryTests.connect(to: server)
    let counters = FleetCounters(connection: closed, queues: [])
    counters.ended(.accepted)
    // There is no connection yet.
    counters.write()
    try await closed.ready(within: patience)
    await limitMemory("1")
    counters.ended(.accepted)
    counters.write()
    // Answered after the write.
    _ = try? await closed.send(RedisCommand("PING"))
    #expect(try await total().isEmpty)
    await limitMemory("0")
    counters.write()
    try await eventually("it is written") { !$0.isEmpty }
    #expect(try await total().jobs == [.accepted: 2])
  }

  @Test func `a full hash counts new names together`() async throws {
    let counters = FleetCounters(connection: connection, queues: [])
    // Each worker has other names.
    for round in 0..<8 {
      for number in 0..<100 { counters.pushed(.accepted, app: "app\(round).\(number)") }
      counters.write()
      try await eventually("round \(round) is written") { $0.accepted == (round + 1) * 100 }
    }
    let buckets = try await CounterHistory.read(last: .hours(2), connection: connection)
    let sum = CounterBucket.sum(buckets)
    #expect(sum.apps.values.reduce(0) { $0 + $1.accepted } == 800)
    #expect(buckets.allSatisfy { $0.apps.count <= CounterLimits.maximumFields })
    #expect(sum.apps["other"]?.accepted ?? 0 > 0)
  }

  @Test func `the hashes expire after the time that is shown`() async throws {
    let counters = FleetCounters(connection: connection, queues: [])
    counters.ended(.accepted)
    counters.write()
    try await eventually("it is written") { !$0.isEmpty }
    let minute = Clock.unixMilliseconds / 60_000
    var lifetimes: [Int64] = []
    for key in [CounterKeys.minute(minute), CounterKeys.minute(minute - 1), CounterKeys.hour(minute / 60)] {
      lifetimes.append(try await connection.send(RedisCommand("TTL", key)).integer ?? -2)
    }
    #expect(lifetimes.contains { $0 > 72 * 3600 })
    #expect(lifetimes.allSatisfy { $0 == -2 || $0 > 72 * 3600 })
    #expect(lifetimes[2] > 73 * 3600)
  }

  @Test func `a key of another type is an error`() async throws {
    for offset in -1...1 {
      let minute = Clock.unixMilliseconds / 60_000 + Int64(offset)
      _ = try await connection.send(RedisCommand("SET", CounterKeys.minute(minute), "x"))
    }
    await #expect(throws: RedisError.self) {
      try await CounterHistory.read(last: .minutes(2), connection: connection)
    }
  }
}

import EventLoop
import QueueSupport
import Redis
import Testing

@testable import Jobs
@testable import Operations
@testable import Queue

/// Reading the jobs of a queue, on a real Redis.
@EventLoop
@Suite(.serialized)
struct QueueBrowserTests {
  private let redis: QueueServer

  init() async throws {
    redis = try await QueueServer()
  }

  private func text(_ jobs: [BrowsedJob]) -> [String] { jobs.map { String(decoding: $0.job, as: UTF8.self) } }

  @Test func `waiting jobs are read from both ends, and stay`() async throws {
    for number in 1...9 { try await redis.send("LPUSH", redis.keys.queue, "j\(number)") }
    #expect(text(try await redis.browser.waiting(.front, limit: 3)) == ["j1", "j2", "j3"])
    #expect(text(try await redis.browser.waiting(.back, limit: 2)) == ["j9", "j8"])
    #expect(text(try await redis.browser.waiting(.front, skipping: 7, limit: 5)) == ["j8", "j9"])
    #expect(text(try await redis.browser.waiting(.front, skipping: 9, limit: 5)) == [])
    #expect(text(try await redis.browser.waiting(.front, skipping: 1_000_000, limit: 5)) == [])
    #expect(try await redis.length("LLEN", redis.keys.queue) == 9)
  }

  @Test func `only an element that carries the seal has an envelope`() async throws {
    let envelope = Envelope(crashes: 1, attempts: 2, nonce: "w.7", state: Array("{}".utf8), job: Array("the job".utf8))
    let element = String(decoding: envelope.element, as: UTF8.self)
    try await redis.send("RPUSH", redis.keys.queue, "MARTLET s3al " + element)
    try await redis.send("RPUSH", redis.keys.queue, element)
    let jobs = try await redis.browser.waiting(.front, limit: 9)
    try #require(jobs.count == 2)
    #expect(jobs[0].job == envelope.element)
    #expect((jobs[0].nonce, jobs[0].attempts) == (nil, 0))
    #expect(jobs[1].job == envelope.job)
    #expect((jobs[1].nonce, jobs[1].attempts) == ("w.7", 2))
    #expect(jobs[1].id == JobID.derived(nonce: "w.7"))
    #expect(jobs[1].jobBytes == 7)
  }

  @Test func `jobs in flight are read with their envelope`() async throws {
    let envelope = Envelope(attempts: 0, nonce: "w.1", job: Array(#"{"id":"a"}"#.utf8))
    try await redis.send("LPUSH", redis.keys.inflight("w"), String(decoding: envelope.element, as: UTF8.self))
    let jobs = try await redis.browser.inFlight(of: "w", limit: 5)
    #expect(jobs.map(\.id) == ["a"])
    #expect(try await redis.browser.inFlight(of: "nobody", limit: 5).isEmpty)
  }

  @Test func `of a long job the beginning is read, and bytes of any kind are returned unchanged`() async throws {
    let nuls = [UInt8](repeating: 0, count: 65536)
    for job in [nuls, [0xFF, 0xFE, 0x0A], [UInt8](repeating: 0x78, count: 3_000_000)] {
      var push = RedisCommand("LPUSH", redis.keys.queue)
      push.append(job)
      _ = try await redis.connection.send(push)
    }
    let jobs = try await redis.browser.waiting(.front, limit: 5)
    #expect(jobs.map(\.jobBytes) == [65536, 3, 3_000_000])
    #expect(jobs.map(\.job.count) == [65536, 3, Job.maximumBytes])
    #expect(jobs.first?.job == nuls)
    #expect(jobs.map(\.id) == [nil, nil, nil])
  }

  @Test func `the bytes of one page are limited, even if its jobs are large`() async throws {
    for _ in 0..<100 { try await redis.send("LPUSH", redis.keys.queue, String(repeating: "x", count: 60_000)) }
    let jobs = try await redis.browser.waiting(.front, limit: 100)
    #expect((40...70).contains(jobs.count))
    #expect(jobs.allSatisfy { $0.job.count == 60_000 && $0.jobBytes == 60_000 })
  }

  @Test func `jobs that are due are read page by page, also with many of the same time`() async throws {
    for number in 100..<130 {
      let job = Envelope(attempts: 1, nonce: "n.\(number)", job: Array(#"{"id":"j\#(number)"}"#.utf8))
      try await redis.add(job.element, to: redis.keys.retry, score: number < 120 ? 5000 : Int64(number))
    }
    var ids: [String] = []
    var position: SortedPosition?
    repeat {
      let page = try await redis.browser.due(.retry, from: position, limit: 7)
      ids += page.jobs.compactMap(\.id)
      position = page.next
    } while position != nil
    #expect(ids == (120..<130).map { "j\($0)" } + (100..<120).map { "j\($0)" })
    #expect(try await redis.browser.due(.scheduled, limit: 7) == .empty)
  }

  @Test func `a page continues at its place while letters before it come and go`() async throws {
    for number in 10..<30 { try await redis.bury("j\(number)", at: Int64(number) / 4) }
    let first = try await redis.browser.dead(limit: 6)
    #expect(first.jobs.compactMap(\.id) == ["j29", "j28", "j27", "j26", "j25", "j24"])
    try await redis.bury("new", at: 100)
    let sweep = await DeadLetterSweep.run(
      .purge, DeadLetterFilter(id: "j29"), queues: [redis.keys.queue], connection: redis.connection)
    #expect(sweep == DeadLetterSweep(done: 1))
    let second = try await redis.browser.dead(from: first.next, limit: 3)
    #expect(second.jobs.compactMap(\.id) == ["j23", "j22", "j21"])
  }

  @Test func `dead letters are filtered by reason, app and time`() async throws {
    try await redis.bury("a", reason: "BadDeviceToken", at: 10)
    try await redis.bury("b", reason: "not \"JSON\"\n<b>", at: 20, job: #"{"to":{"app":"com.example.b"},"title":"x"}"#)
    let third = #"{"id":"c","to":{"user":"u"},"app":"com.example.b"}"#
    try await redis.bury("c", reason: "BadDeviceToken", at: 30, job: third)
    // The bundle id stands in it, but the job is not the app's.
    try await redis.bury("d", reason: "BadTopic", at: 40, job: #"{"to":{"user":"u"},"data":{"app":"com.example.b"}}"#)
    func ids(_ filter: DeadLetterFilter) async throws -> [String] {
      try await redis.browser.dead(filter, limit: 9).jobs.compactMap(\.id)
    }
    #expect(try await ids(DeadLetterFilter()) == ["d", "c", "b", "a"])
    #expect(try await ids(DeadLetterFilter(reason: "BadDevice")) == ["c", "a"])
    #expect(try await ids(DeadLetterFilter(reason: "\"JSON\"\n<b>")) == ["b"])
    #expect(try await ids(DeadLetterFilter(reason: "%d")) == [])
    #expect(try await ids(DeadLetterFilter(reason: "attempts")) == [])
    #expect(try await ids(DeadLetterFilter(app: "com.example.b")) == ["c", "b"])
    #expect(try await ids(DeadLetterFilter(since: 20, until: 30)) == ["c", "b"])
    #expect(try await ids(DeadLetterFilter(reason: "Bad", app: "com.example.b", since: 1)) == ["c"])
  }

  @Test func `a filter that little matches examines a bounded number of letters and says where to go on`() async throws
  {
    for number in 0..<60 {
      try await redis.bury("j\(number)", reason: number == 0 ? "rare" : "common", at: Int64(number))
    }
    let page = try await redis.browser.dead(DeadLetterFilter(reason: "rare"), limit: 5, examining: 40)
    #expect(page.jobs.isEmpty)
    #expect(page.examined == 40)
    let rest = try await redis.browser.dead(DeadLetterFilter(reason: "rare"), from: page.next, limit: 5, examining: 40)
    #expect(rest.jobs.compactMap(\.id) == ["j0"])
    #expect(rest.next == nil)
  }

  @Test func `what is no dead letter is shown as it is`() async throws {
    try await redis.add(Array("another program's".utf8), to: redis.keys.dead, score: 5)
    try await redis.add([0xFF, 0x00] + Array("\n\n".utf8), to: redis.keys.dead, score: 4)
    let page = try await redis.browser.dead(limit: 5)
    #expect(page.jobs.count == 2)
    #expect(page.jobs.allSatisfy { $0.burial == nil })
    #expect(page.jobs.first?.job == Array("another program's".utf8))
  }

  @Test func `a key of another type is an empty state`() async throws {
    for key in [redis.keys.dead, redis.keys.retry, redis.keys.queue, redis.keys.inflight("w")] {
      try await redis.send("SET", key, "another type")
    }
    #expect(try await redis.browser.dead(limit: 5) == .empty)
    #expect(try await redis.browser.due(.retry, limit: 5) == .empty)
    #expect(try await redis.browser.inFlight(of: "w", limit: 5).isEmpty)
    #expect(try await redis.browser.waiting(.back, limit: 5).isEmpty)
  }

  @Test func `the reasons of the newest letters are counted`() async throws {
    for number in 0..<12 {
      try await redis.bury("j\(number)", reason: number < 8 ? "a \"b\"" : "c", at: Int64(number))
    }
    try await redis.add(Array("another program's".utf8), to: redis.keys.dead, score: 50)
    let reasons = try await DeadReasons.read(redis.keys.queue, newest: 1000, from: redis.connection)
    #expect(reasons.entries == [.init(reason: "a \"b\"", count: 8), .init(reason: "c", count: 4)])
    #expect(reasons.others == 1)
    #expect(reasons.examined == 13)
    let newest = try await DeadReasons.read(redis.keys.queue, newest: 3, from: redis.connection)
    #expect(newest.entries == [.init(reason: "c", count: 2)])
    let filter = DeadLetterFilter(reason: "b\"", since: 3, until: 9)
    let some = try await DeadReasons.read(redis.keys.queue, filter, newest: 1000, from: redis.connection)
    #expect(some.matched == 5)
    #expect(some.examined == 7)
  }

  @Test func `hostile reasons make no long list`() async throws {
    for number in 0..<150 { try await redis.bury("j\(number)", reason: "reason \(number)", at: 1) }
    let reasons = try await DeadReasons.read(redis.keys.queue, newest: 1000, from: redis.connection)
    #expect(reasons.entries.count == 20)
    #expect(reasons.others == 130)
  }
}

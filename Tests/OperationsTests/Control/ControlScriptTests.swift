import EventLoop
import QueueSupport
import Redis
import Telemetry
import TestSupport
import Testing

@testable import Jobs
@testable import Operations
@testable import Queue

/// What operators ask of a queue and its jobs, on a real Redis.
@EventLoop
@Suite(.serialized)
struct ControlScriptTests: QueueScriptTests {
  let redis: QueueServer
  var control: QueueControl { QueueControl(queue: keys.queue, connection: connection) }
  var jobs: FleetQueues { FleetQueues([keys.queue], connection: connection) }

  init() async throws { redis = try await Self.server() }

  func element(_ id: String, nonce: String, attempts: Int = 0) -> [UInt8] {
    let job = Array(#"{"id":"\#(id)","to":{"user":"a"},"title":"x"}"#.utf8)
    return Envelope(attempts: attempts, nonce: nonce, job: job).element
  }

  /// Settles a job as a worker does.
  @discardableResult
  func settle(
    _ exit: JobExit, as element: [UInt8] = [], at: Int64 = 0, _ id: String, nonce: String = "n",
    isProducers: Bool = true
  ) async throws -> SettleAnswer {
    let claimed = self.element(id, nonce: nonce)
    connection.send(RedisCommand("LPUSH", keys.inflight("w")).with(claimed)) { _ in }
    let settlement = Settlement(
      exit, as: element, at: at, locator: Settlement.Locator(jobID: id, isProducers: isProducers))
    let claim = Claim(queueIndex: 0, element: claimed, nonce: nonce, now: 0, monotonic: 0)
    let call = settlement.call(of: claim, keys, worker: "w", .atLeastOnce, seal: "s3al", replyTo: nil, events: [])
    let answer = try await connection.send(call)
    return SettleAnswer(answer)
  }

  func schedule(_ id: String, nonce: String, at: Int64 = 4_000_000_000_000) async throws {
    let answer = try await settle(.schedule(at: at), as: element(id, nonce: nonce), id, nonce: nonce)
    #expect(answer == .settled(droppedLetters: 0, keptRecord: false))
  }

  func state() async throws -> ControlState? {
    try await send("GET", keys.control).bytes.flatMap(ControlState.init(bytes:))
  }

  // MARK: - Pause

  @Test(arguments: [DeliveryMode.atLeastOnce, .atMostOnce])
  func `nothing is claimed from a paused queue`(mode: DeliveryMode) async throws {
    try await send("LPUSH", keys.queue, "a")
    let pause = try await control.pause(by: "anna", reason: "P \"paused\"\n7 P")
    #expect(try await control.pause(by: "bob", reason: "later") == pause)
    let answer = try await claim(mode: mode)
    #expect(answer?.isPaused == true)
    #expect(answer?.control?.isPaused == true)
    #expect(try await control.currentPause() == pause)
    #expect(try await send("LLEN", keys.queue).integer == 1)
    #expect(try await control.resume())
    #expect(try await !control.resume())
    #expect(try await send("EXISTS", keys.control).integer == 0)
    let claimed = try await claim(mode: mode)
    #expect(claimed?.elements.count == 1)
    #expect(claimed?.control == nil)
  }

  @Test func `what has landed goes back to its place, also while the memory of Redis is full`() async throws {
    try await control.pause(by: "", reason: "")
    try await send("LPUSH", keys.queue, "c")
    for job in ["a", "b"] { try await send("LPUSH", keys.landing("w"), job) }
    try await fill()
    #expect(try await claim(landed: true)?.isPaused == true)
    #expect(try await send("LRANGE", keys.queue, "0", "-1") == .array(["c", "b", "a"].map { .bytes(Array($0.utf8)) }))
    #expect(try await send("EXISTS", keys.landing("w")).integer == 0)
  }

  @Test func `a queue is paused while the memory of Redis is full`() async throws {
    try await fill()
    try await control.pause(by: "anna", reason: "full")
    #expect(try await control.currentPause()?.by == "anna")
  }

  // MARK: - Locating

  @Test func `a job is found among many that are due at the same time`() async throws {
    for number in 0..<60 { try await schedule("job-\(number)", nonce: "n.\(number).x") }
    for number in [0, 1, 29, 58, 59] {
      let location = try await jobs.locate("job-\(number)")
      #expect(location.place == .scheduled(due: 4_000_000_000_000))
      #expect(location.envelope?.nonce == "n.\(number).x")
      #expect(location.queue == "jobs")
    }
    #expect(try await jobs.locate("job-60").place == .unknown(isWaitingPossible: false))
  }

  @Test func `waiting jobs are found by their place, those in flight by their worker`() async throws {
    for id in ["a", "b", "c"] { try await send("LPUSH", keys.queue, #"{"id":"\#(id)","to":{"user":"c"}}"#) }
    #expect(try await jobs.locate("a").place == .waiting(place: 0, of: 3))
    #expect(try await jobs.locate("c").place == .waiting(place: 2, of: 3))
    try await send("SADD", keys.workers, "w")
    _ = try await claim()
    #expect(try await jobs.locate("b").place == .inFlight(worker: "w"))
    #expect(try await jobs.locate("b").envelope?.nonce == "p.2")
  }

  @Test func `a job without an id of its own is found in flight by the one that its nonce gives`() async throws {
    try await send("SADD", keys.workers, "w")
    try await send("LPUSH", keys.queue, #"{"to":{"user":"a"}}"#)
    _ = try await claim()
    #expect(try await jobs.locate(JobID.derived(nonce: "p.1")).place == .inFlight(worker: "w"))
  }

  @Test func `a dead job is found, and a retried one at its due time`() async throws {
    let letter = DeadLetter(
      id: "gone", reason: "because", at: 77, attempts: 1, envelope: Envelope(element: element("gone", nonce: "g")))
    try await settle(.bury(reason: "r"), as: letter.bytes, at: 77, "gone", nonce: "g")
    let location = try await jobs.locate("gone")
    #expect(location.place == .dead(since: 77, reason: "because"))
    #expect(location.envelope?.nonce == "g")
    let again = element("again", nonce: "r", attempts: 1)
    try await settle(.retry(delay: .seconds(60)), as: again, "again", nonce: "r")
    guard case .retry(let due) = try await jobs.locate("again").place else { Issue.record("not found"); return }
    #expect(due > 1_700_000_000_000)
  }

  @Test(arguments: ["", " ", "a b", "*", "%s+", "a\nb", "{x}", "\u{0}", String(repeating: "a", count: 129), "ä"])
  func `an id that no job can have is unknown, and leaves nothing behind`(id: String) async throws {
    try await send("LPUSH", keys.queue, #"{"to":{"user":"a"}}"#)
    #expect(try await jobs.locate(id).place == .unknown(isWaitingPossible: false))
    #expect(try await jobs.cancel(id) == .invalid)
    #expect(try await send("EXISTS", keys.control, keys.cancelled).integer == 0)
  }

  // MARK: - Cancel and run now

  @Test func `a scheduled job is cancelled with its record, and its id stays cancelled`() async throws {
    try await schedule("later", nonce: "n")
    guard case .cancelled(let record) = try await jobs.cancel("later") else { Issue.record("not cancelled"); return }
    #expect(record.status == .cancelled)
    #expect(try await send("ZCARD", keys.scheduled).integer == 0)
    #expect(try await send("EXISTS", keys.due("later")).integer == 0)
    #expect(try await screen(["later"]) == [1])
    let stored = try #require(try await send("GET", QueueKeys.result("later")).bytes)
    #expect(JobResult(parsing: stored)?.status == .cancelled)
    guard case .ended(let location) = try await jobs.cancel("later") else { Issue.record("not ended"); return }
    #expect(location.record?.status == .cancelled)
  }

  @Test func `a waiting job is marked for 24 h, and the mark outlives it`() async throws {
    try await send("LPUSH", keys.queue, #"{"id":"a","to":{"user":"c"}}"#)
    guard case .marked(let location) = try await jobs.cancel("a") else { Issue.record("not marked"); return }
    #expect(location.place == .waiting(place: 0, of: 1))
    #expect(try await state()?.flags == [.cancellations])
    let answer = try #require(try await claim())
    #expect(answer.control?.flags == [.cancellations])
    let screening = try await screen(["a", "b"])
    #expect(screening == [1, 0])
    try await settle(.acknowledge, "a")
    let end = try #require(try await send("ZSCORE", keys.cancelled, "a").string.flatMap(Int64.init))
    #expect((end - Clock.unixMilliseconds - 24 * 3_600_000).magnitude < 60_000)
  }

  func screen(_ ids: [String], replaces: Bool = false) async throws -> [Int64] {
    let locators = ids.map { replaces ? keys.due($0) : keys.cancelled }
    let answer = try await connection.send(
      QueueScripts.screen(
        cancelled: keys.cancelled, pauses: keys.pauses, scheduled: keys.scheduled, locators: RedisList(locators),
        ids: RedisList(ids)))
    return (answer.array ?? []).compactMap(\.integer)
  }

  @Test func `an id that is found nowhere is cancelled in every queue`() async throws {
    let both = FleetQueues(["other", keys.queue], connection: connection)
    guard case .marked(let location) = try await both.cancel("a") else { Issue.record("not marked"); return }
    #expect(location.place == .unknown(isWaitingPossible: false))
    for queue in ["other", keys.queue] {
      #expect(try await send("ZSCORE", QueueKeys(queue: queue).cancelled, "a") != .null)
    }
  }

  @Test func `marks end in different moments, and are counted`() async throws {
    try await send("LPUSH", keys.queue, "x")
    for number in 0..<20 { _ = try await jobs.cancel("job-\(number)") }
    let scores = try await send("ZRANGE", keys.cancelled, "0", "-1", "WITHSCORES").array ?? []
    #expect(scores.count == 40)
    #expect(Set(stride(from: 1, to: 40, by: 2).map { scores[$0] }.compactMap(\.string)).count == 20)
    let full = try await connection.send(
      OperationsScripts.mark(control: keys.control, cancelled: keys.cancelled, id: "one-more", ttl: 1000, most: 20))
    #expect(full.integer == 0)
  }

  @Test func `a job runs before its time once, sealed, at the front of its queue`() async throws {
    try await send("LPUSH", keys.queue, "other")
    try await schedule("later", nonce: "n")
    #expect(try await jobs.runNow("later") == nil)
    guard let location = try await jobs.runNow("later") else { Issue.record("ran twice"); return }
    #expect(location.place == .waiting(place: 0, of: 2))
    let answer = try await claim()
    #expect(answer?.elements.first.map { Envelope(element: $0).nonce } == "n")
  }

  // MARK: - Replacing

  @Test func `a scheduled job replaces the one that is scheduled under its id`() async throws {
    try await schedule("same", nonce: "first", at: 4_000_000_000_000)
    try await schedule("other", nonce: "other", at: 4_000_000_000_000)
    try await schedule("same", nonce: "second", at: 4_100_000_000_000)
    #expect(try await send("ZCARD", keys.scheduled).integer == 2)
    #expect(try await jobs.locate("same").envelope?.nonce == "second")
    #expect(try await state()?.flags == [.scheduledIDs])
    #expect(try await screen(["same"], replaces: true) == [0])
    #expect(try await jobs.locate("same").place == .unknown(isWaitingPossible: false))
    #expect(try await send("ZCARD", keys.scheduled).integer == 1)
  }

  @Test func `jobs with ids that the fleet has given leave no letter behind`() async throws {
    try await settle(.schedule(at: 4_000_000_000_000), as: element("x", nonce: "n"), "x", isProducers: false)
    #expect(try await state() == nil)
  }

  // MARK: - Promoter

  @Test func `the promoter removes letters that stand for nothing, and keeps the others`() async throws {
    try await schedule("due", nonce: "n", at: 1)
    _ = try await connection.send(
      OperationsScripts.mark(control: keys.control, cancelled: keys.cancelled, id: "over", ttl: -10, most: 100))
    try await control.pause(by: "anna", reason: "")
    #expect(try await state()?.flags == [.scheduledIDs, .cancellations, .paused])
    let answer = try await connection.send(keys.promote(by: "w"))
    #expect(PromotionAnswer(answer)?.moved == 1)
    #expect(PromotionAnswer(answer)?.control?.flags == [.paused])
    #expect(try await control.currentPause()?.by == "anna")
    _ = try await send("PERSIST", keys.promoter)
    let other = try await connection.send(keys.promote(by: "v"))
    #expect(PromotionAnswer(other)?.isElected == false)
    #expect(PromotionAnswer(other)?.control?.isPaused == true)
  }

  // MARK: - Broadcasts

  @Test func `a paused broadcast is kept until it is resumed, then it is at the front`() async throws {
    #expect(try await jobs.pause(broadcast: "b", by: "anna") == .unknown)
    try await writeState("b", .running)
    #expect(try await jobs.pause(broadcast: "b", by: "anna") == .paused)
    #expect(try await state()?.flags == [.pausedBroadcasts])
    #expect(try await screen(["b", "c"]) == [2, 0])
    try await settle(.pause, as: element("b", nonce: "n"), "b")
    #expect(try await jobs.locate("b").place == .paused)
    #expect(try await jobs.broadcast("b")?.pause?.by == "anna")
    try await send("ZADD", keys.cancelled, "4000000000000", "b")
    #expect(try await jobs.resume(broadcast: "b"))
    #expect(try await !jobs.resume(broadcast: "b"))
    #expect(try await state()?.flags == [.scheduledIDs])
    #expect(try await send("EXISTS", keys.cancelled, keys.scheduled, keys.due("b")).integer == 0)
    let answer = try await claim()
    #expect(answer?.elements == [element("b", nonce: "n")])
  }

  @Test func `a broadcast that is resumed before its worker has stopped is due at once`() async throws {
    try await settle(.pause, as: element("b", nonce: "n"), "b")
    let answer = try await connection.send(keys.promote(by: "w"))
    #expect(PromotionAnswer(answer)?.moved == 1)
    #expect(try await claim()?.elements == [element("b", nonce: "n")])
  }

  @Test func `a paused broadcast does not run before it is resumed`() async throws {
    try await writeState("b", .running)
    _ = try await jobs.pause(broadcast: "b", by: "")
    try await settle(.pause, as: element("b", nonce: "n"), "b")
    guard let location = try await jobs.runNow("b") else { Issue.record("runs"); return }
    #expect(location.place == .paused)
    let answer = try #require(PromotionAnswer(try await connection.send(keys.promote(by: "w"))))
    #expect(answer.moved == 0)
  }

  @Test func `a paused broadcast is cancelled with what it had sent`() async throws {
    try await writeState("b", .running)
    _ = try await jobs.pause(broadcast: "b", by: "")
    var state = AttemptState()
    var result = JobResult(id: "b", status: .retrying, worker: "w", claimedAt: 1)
    result.add(DeviceResult(token: "t", ok: true, status: 200, apnsID: "", reason: nil), as: .accepted)
    state.result = result
    let job = Array(#"{"id":"b","to":{"app":"com.example"},"title":"x"}"#.utf8)
    let paused = Envelope(nonce: "n", state: state.json(), job: job).element
    try await settle(.pause, as: paused, "b")
    guard case .cancelled(let record) = try await jobs.cancel("b") else { Issue.record("not cancelled"); return }
    #expect(record.accepted == 1)
    #expect(try await send("EXISTS", keys.scheduled, keys.pauses).integer == 0)
    #expect(try await jobs.broadcast("b")?.entry.state == .cancelled)
  }

  func writeState(_ id: String, _ state: BroadcastEntry.State) async throws {
    let entry = BroadcastEntry(
      id: id, queue: keys.queue, app: "com.example", state: state, startedAt: 1, changedAt: 2, worker: "w", nonce: "n")
    _ = try await connection.send(entry.writing(keys))
  }

  @Test func `the latest broadcasts are listed, the last changed first, and the oldest forgotten`() async throws {
    for number in 0..<5 {
      let entry = BroadcastEntry(
        id: "b\(number)", queue: keys.queue, app: "com.example", state: .running, startedAt: 1,
        changedAt: Int64(number), worker: "w", nonce: "n")
      _ = try await connection.send(
        QueueScripts.writeBroadcast(
          latest: keys.broadcasts, broadcast: keys.broadcast(entry.id), control: keys.control, pauses: keys.pauses,
          id: entry.id, entry: entry.json(), ttl: 60_000, at: Int64(number), most: 3, hasEnded: 0))
    }
    #expect(try await jobs.broadcasts().map(\.entry.id) == ["b4", "b3", "b2"])
    #expect(try await jobs.broadcasts(limit: 1).map(\.entry.id) == ["b4"])
  }

  // MARK: - Draining

  @Test func `only workers of the queue can be drained`() async throws {
    let workers = FleetQueues([keys.queue], connection: connection)
    #expect(try await !workers.drain("w"))
    try await send("SADD", keys.workers, "w")
    #expect(try await workers.drain("w"))
    #expect(try await state()?.flags == [.drainedWorkers])
    #expect(try await workers.undrain("w"))
    #expect(try await state() == nil)
  }
}

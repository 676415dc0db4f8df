import EventLoop
import Jobs
import QueueSupport
import Redis
import TestSupport
import Testing

@testable import Jobs
@testable import Operations
@testable import Queue

/// What is left when jobs and broadcasts have ended.
extension ControlScriptTests {

  private func broadcast(_ id: String, nonce: String = "n") -> [UInt8] {
    Envelope(nonce: nonce, job: Array(#"{"id":"\#(id)","to":{"app":"com.example"},"title":"x"}"#.utf8)).element
  }

  // MARK: - Cancelled broadcasts

  @Test func `a paused broadcast that waits for its retry is cancelled with its pause`() async throws {
    try await writeState("b", .running)
    #expect(try await jobs.pause(broadcast: "b", by: "") == .paused)
    try await settle(.retry(delay: .seconds(600)), as: broadcast("b"), "b")
    guard case .cancelled = try await jobs.cancel("b") else { Issue.record("not cancelled"); return }
    #expect(try await send("EXISTS", keys.pauses, keys.due("b")).integer == 0)
    #expect(try await state()?.flags == [.cancellations])
  }

  @Test func `a broadcast that is cancelled while no worker has it is an event, if events are written`() async throws {
    try await writeState("b", .running)
    _ = try await jobs.pause(broadcast: "b", by: "")
    try await settle(.pause, as: broadcast("b"), "b")
    guard case .cancelled = try await jobs.cancel("b") else { Issue.record("not cancelled"); return }
    #expect(try await send("EXISTS", "push:events").integer == 0)
    try await send("XADD", "push:events", "*", "event", "{}")
    _ = try await jobs.pause(broadcast: "b", by: "")
    for id in ["b", "c"] { try await settle(.retry(delay: .seconds(600)), as: broadcast(id, nonce: id), id) }
    try await settle(.retry(delay: .seconds(600)), as: element("single", nonce: "s"), "single")
    for id in ["b", "c", "single"] {
      guard case .cancelled = try await jobs.cancel(id) else { Issue.record("\(id) not cancelled"); return }
    }
    let entries = try await send("XRANGE", "push:events", "-", "+").array ?? []
    let texts = entries.dropFirst().compactMap { $0.array?.last?.array?.last?.string }
    #expect(texts.count == 2)
    for (id, text) in zip(["b", "c"], texts) {
      #expect(text.hasPrefix(#"{"type":"broadcast.finished","#))
      #expect(text.contains(#""id":"\#(id)","queue":"jobs""#))
      #expect(text.contains(#""app":"com.example","status":"cancelled""#))
    }
  }

  @Test(arguments: [BroadcastEntry.State.finished, .cancelled])
  func `a broadcast that ends just before it is paused leaves no pause`(state: BroadcastEntry.State) async throws {
    try await writeState("b", state)
    let answer = try await connection.send(
      OperationsScripts.pauseBroadcast(
        control: keys.control, pauses: keys.pauses, broadcast: keys.broadcast("b"), id: "b", reason: Array("{}".utf8),
        most: 10))
    #expect(answer.integer == -1)
    #expect(try await send("EXISTS", keys.pauses, keys.control).integer == 0)
  }

  @Test func `a broadcast that an earlier version has paused is paused again by who claims it`() async throws {
    try await send("SET", keys.seal, "s3al")
    for number in 0..<120 { try await send("HSET", keys.pausedJobs, "b n.\(number)", "MARTLET1 0 0 n.\(number) 0\nx") }
    var left: [Int64] = []
    repeat {
      let call = QueueScripts.adoptPaused(jobs: keys.pausedJobs, queue: keys.queue, seal: keys.seal, most: 50)
      left.append(try #require(try await connection.send(call).integer))
    } while left.last != 0
    #expect(left == [70, 20, 0])
    #expect(try await send("EXISTS", keys.pausedJobs).integer == 0)
    let elements = try #require(try await claim(upTo: 200)).elements
    #expect(Set(elements.map { Envelope(element: $0).nonce }) == Set((0..<120).map { "n.\($0)" }))
  }

  // MARK: - Long queues

  @Test(arguments: [true, false])
  func `an id that is dead or has ended stays cancelled`(isDead: Bool) async throws {
    if isDead {
      let letter = DeadLetter(
        id: "a", reason: "because", at: 77, attempts: 1, envelope: Envelope(element: element("a", nonce: "g")))
      try await settle(.bury(reason: "r"), as: letter.bytes, at: 77, "a", nonce: "g")
    } else {
      let record = JobResult(id: "a", status: .accepted, worker: "w", claimedAt: 1, finishedAt: 2)
      try await send("SET", QueueKeys.result("a"), String(decoding: record.json(), as: UTF8.self))
    }
    switch try await jobs.cancel("a") {
    case .dead: #expect(isDead)
    case .ended: #expect(!isDead)
    case let other: Issue.record("\(other)")
    }
    #expect(try await send("ZSCORE", keys.cancelled, "a") != .null)
  }

  @Test func `a queue of large jobs is not searched whole, and an id that is not found stays marked`() async throws {
    for id in ["first", "inside", "last"] {
      try await send("LPUSH", keys.queue, #"{"id":"\#(id)","to":{"user":"c"}}"#)
      for _ in 0..<60 where id != "last" {
        try await send("LPUSH", keys.queue, String(repeating: "x", count: 100_000))
      }
    }
    #expect(try await jobs.locate("first").place == .waiting(place: 0, of: 123))
    #expect(try await jobs.locate("last").place == .waiting(place: 122, of: 123))
    #expect(try await jobs.locate("inside").place == .unknown(isWaitingPossible: true))
    guard case .marked = try await jobs.cancel("inside") else { Issue.record("not marked"); return }
    #expect(try await send("ZSCORE", keys.cancelled, "inside") != .null)
  }

  // MARK: - Workers

  @Test func `a job that is buried for its crashes is told with all of its state`() async throws {
    var state = AttemptState()
    state.open = (0..<500).map { "token-\($0)" }
    let envelope = Envelope(
      crashes: 3, attempts: 2, nonce: "n", state: state.json(), job: Array(#"{"id":"crashed"}"#.utf8))
    _ = try await connection.send(RedisCommand("LPUSH", keys.inflight("gone")).with(envelope.element))
    let answer = try await connection.send(keys.reap("gone", at: 1))
    let told = try #require(answer.array?.last?.array?.first?.bytes)
    let job = CrashedJob(beginning: told, worker: "gone", queue: keys.queue)
    #expect((job.id, job.nonce, job.attempts) == ("crashed", "n", 3))
    #expect(job.state == state)
  }

  @Test func `a dead worker is drained no more`() async throws {
    for key in [keys.workers, keys.drained] { try await send("SADD", key, "gone") }
    let answer = try await connection.send(keys.reap("gone", at: 1))
    #expect(answer.array?.first?.integer == 0)
    #expect(try await send("EXISTS", keys.workers, keys.drained).integer == 0)
  }
}

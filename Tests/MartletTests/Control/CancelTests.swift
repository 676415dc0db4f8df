import FleetSupport
import Foundation
import Redis
import Testing
import TestSupport
@testable import Operations
@testable import Queue

/// Operators cancel jobs, and producers replace scheduled ones.
@Suite(.serialized) struct CancelTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let queue: String

  init() async throws {
    fleet = try await Self.shared.value
    queue = fleet.unique("jobs")
    try await fleet.gateway.reset()
  }

  private struct Outcome: Decodable {
    let id: String
    let outcome: String
    let stopped: Bool
    let status: String?
  }

  private func cancel(_ id: String) async throws -> Outcome {
    let child = try await fleet.martlet("cancel", id, "--json", environment: ["MARTLET_QUEUES": queue])
    let line = try #require(child.lines(of: .output).first, "\(child.lines)")
    let outcome = try JSONDecoder().decode(Outcome.self, from: Data(line.utf8))
    #expect(child.exitCode == (outcome.stopped ? 0 : 1))
    return outcome
  }

  private func isMarked(_ id: String) async throws -> Bool {
    try await fleet.redis("ZSCORE", QueueKeys(queue: queue).cancelled, id) != .null
  }

  private func job(_ id: String, _ token: String, _ more: String = "") -> String {
    #"{"id":"\#(id)","to":{"token":"\#(token)"},"title":"x"\#(more)}"#
  }

  private func inAnHour() -> String { "\"sendAt\":\(Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000)" }

  @Test func `a scheduled job is cancelled, with its record and its reply`() async throws {
    let worker = try await fleet.worker(on: queue)
    let reply = fleet.unique("replies")
    try await fleet.enqueue(
      job("\(queue)-later", fleet.uniqueToken(), ",\(inAnHour()),\"replyTo\":\"\(reply)\""), on: queue)
    let keys = QueueKeys(queue: queue)
    try await eventually("it is scheduled") { try await fleet.redis("ZCARD", keys.scheduled).integer == 1 }
    let outcome = try await cancel("\(queue)-later")
    #expect(outcome.outcome == "cancelled")
    #expect(outcome.stopped)
    #expect(try await fleet.record("\(queue)-later").status == "cancelled")
    #expect(try await fleet.redis("LLEN", reply).integer == 1)
    #expect(try await fleet.redis("ZCARD", keys.scheduled).integer == 0)
    #expect(try await fleet.redis("EXISTS", keys.due("\(queue)-later")).integer == 0)
    #expect(try await isMarked("\(queue)-later"))
    let again = try await cancel("\(queue)-later")
    #expect(again.stopped)
    #expect(try await fleet.gateway.ledger().received == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `what has ended, is dead or was never enqueued is not changed, and its id stays cancelled`() async throws {
    let worker = try await fleet.worker(on: queue)
    try await fleet.enqueue(job("\(queue)-sent", fleet.uniqueToken()), #"{"id":"\#(queue)-dead"}"#, on: queue)
    #expect(try await fleet.record("\(queue)-sent").status == "accepted")
    _ = try await fleet.deadLetters(queue, count: 1)
    let record = try await fleet.redis("GET", QueueKeys.result("\(queue)-sent"))
    let sent = try await cancel("\(queue)-sent")
    #expect(sent.outcome == "ended")
    #expect(sent.status == "accepted")
    #expect(try await fleet.redis("GET", QueueKeys.result("\(queue)-sent")) == record)
    #expect(try await cancel("\(queue)-dead").outcome == "dead")
    #expect(try await cancel("\(queue)-never").outcome == "marked")
    #expect(try await fleet.deadLetters(queue).count == 1)
    for id in ["sent", "dead", "never"] { #expect(try await isMarked("\(queue)-\(id)")) }
    try await fleet.enqueue(job("\(queue)-never", fleet.uniqueToken()), on: queue)
    #expect(try await fleet.record("\(queue)-never").status == "cancelled")
    #expect(try await isMarked("\(queue)-never"))
    #expect(try await fleet.gateway.ledger().received == 1)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a waiting job is dropped by the worker that takes it`() async throws {
    try await fleet.enqueue(job("\(queue)-a", fleet.uniqueToken()), job("\(queue)-b", fleet.uniqueToken()), on: queue)
    let outcome = try await cancel("\(queue)-a")
    #expect(outcome.outcome == "marked")
    #expect(outcome.stopped)
    let worker = try await fleet.worker(on: queue)
    #expect(try await fleet.record("\(queue)-a").status == "cancelled")
    #expect(try await fleet.record("\(queue)-b").status == "accepted")
    #expect(try await fleet.gateway.ledger().received == 1)
    #expect(try await isMarked("\(queue)-a"))
    #expect(try await worker.stop() == 0)
  }

  @Test func `a waiting job with a time to come is dropped instead of being scheduled`() async throws {
    let token = fleet.uniqueToken()
    try await fleet.enqueue(
      job("\(queue)-a", fleet.uniqueToken(), ",\(inAnHour())"),
      job("\(queue)-b", fleet.uniqueToken(), ",\(inAnHour())"),
      job("\(queue)-b", token), on: queue)
    #expect(try await cancel("\(queue)-a").stopped)
    let worker = try await fleet.worker(on: queue)
    #expect(try await fleet.record("\(queue)-a").status == "cancelled")
    // The other jobs of the claim are as they would be without a cancellation.
    #expect(try await fleet.record("\(queue)-b").results.map(\.token) == [token])
    #expect(try await fleet.redis("ZCARD", QueueKeys(queue: queue).scheduled).integer == 0)
    #expect(try await fleet.gateway.ledger().received == 1)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a job that waits for its retry is cancelled, and the record keeps what was accepted`() async throws {
    let (good, busy) = (fleet.uniqueToken(), fleet.uniqueToken())
    try await fleet.gateway.device(busy, #""rule":"fixed","status":503,"retryAfter":300"#)
    let worker = try await fleet.worker(on: queue)
    let id = "\(queue)-retry"
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"tokens":["\#(good)","\#(busy)"]},"title":"x"}"#, on: queue)
    _ = try await fleet.record(id, "its first attempt") { $0.status == "retrying" }
    let outcome = try await cancel(id)
    #expect(outcome.stopped)
    let record = try await fleet.record(id)
    #expect(record.status == "cancelled")
    #expect(record.accepted == 1)
    #expect(record.results.map(\.token) == [good])
    try await fleet.settled(queue)
    #expect(try await worker.stop() == 0)
  }

  @Test func `pushes of a job in flight that were not sent yet are not sent`() async throws {
    let tokens = fleet.uniqueTokens(400)
    try await fleet.gateway.settings(#"{"rttMs":100,"maxStreams":4}"#)
    let worker = try await fleet.worker(["MARTLET_CONCURRENCY": "4"], on: queue)
    let id = "\(queue)-flying"
    let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"tokens":[\#(list)]},"title":"x"}"#, on: queue)
    try await eventually("it is being sent") { try await fleet.gateway.ledger().accepted > 4 }
    let outcome = try await cancel(id)
    #expect(outcome.stopped)
    let record = try await fleet.record(id)
    #expect(record.status == "cancelled")
    #expect(record.accepted > 0 && record.accepted < 400)
    #expect(try await fleet.gateway.ledger().received == record.accepted + record.uncertain)
    try await fleet.settled(queue)
    #expect(try await worker.stop() == 0)
    try await fleet.gateway.settings(#"{"rttMs":0,"maxStreams":1000}"#)
  }

  @Test(arguments: ["at-least-once", "at-most-once"])
  func `a job whose cancellation is certain has no push, even while workers claim jobs`(
    mode: String
  ) async throws {
    let count = 600
    var workers: [FleetWorker] = []
    let settings: [String: String?] = ["MARTLET_DELIVERY": mode, "MARTLET_CONCURRENCY": "16"]
    for _ in 0..<2 { workers.append(try await fleet.worker(settings, on: queue)) }
    try await fleet.gateway.settings(#"{"rttMs":1000}"#)
    let tokens = fleet.uniqueTokens(count)
    let name = queue
    try await fleet.enqueue(
      (0..<count).map { Array(job("\(name)-\($0)", tokens[$0]).utf8) }, on: queue)
    let stopped = try await cancelEach(of: count)
    try await fleet.gateway.settings(#"{"rttMs":0}"#)
    try await fleet.settled(queue)
    var cancelled = 0
    for number in 0..<count {
      let record = try await fleet.record("\(name)-\(number)")
      guard stopped.contains(number) || record.status == "cancelled" else { continue }
      cancelled += 1
      #expect(record.status == "cancelled", "\(record)")
      #expect(record.accepted == 0)
    }
    #expect(cancelled > 0)
    let ledger = try await fleet.gateway.ledger()
    print("\(mode): \(cancelled) of \(count) cancelled while they ran, \(ledger.received) pushes")
    #expect(ledger.received == count - cancelled)
    #expect(ledger.duplicates == 0)
    for worker in workers { #expect(try await worker.stop() == 0) }
  }

  /// Cancels every second job, the last ones first, and returns those whose cancellation was certain at once.
  private func cancelEach(of count: Int) async throws -> Set<Int> {
    let control = await FleetQueues([queue], connection: fleet.connection)
    var stopped: Set<Int> = []
    for number in stride(from: count - 1, to: 0, by: -2) {
      switch try await control.cancel("\(queue)-\(number)") {
      case .cancelled: stopped.insert(number)
      case .marked(let location): if case .waiting = location.place { stopped.insert(number) }
      case .ended, .dead, .invalid, .tooMany: break
      }
    }
    return stopped
  }

  @Test func `a job replaces the one that is scheduled under its id, with and without a time`() async throws {
    let worker = try await fleet.worker(on: queue)
    let keys = QueueKeys(queue: queue)
    let (first, second, third) = (fleet.uniqueToken(), fleet.uniqueToken(), fleet.uniqueToken())
    let id = "\(queue)-reminder"
    try await fleet.enqueue(job(id, first, ",\(inAnHour())"), on: queue)
    try await eventually("it is scheduled") { try await fleet.redis("ZCARD", keys.scheduled).integer == 1 }
    try await fleet.enqueue(job(id, second, ",\(inAnHour())"), on: queue)
    try await eventually("the second one is scheduled in its place") {
      let elements = try await fleet.redis("ZRANGE", keys.scheduled, "0", "-1").array ?? []
      return elements.count == 1 && elements[0].string?.contains(second) == true
    }
    try await fleet.enqueue(job(id, third), on: queue)
    #expect(try await fleet.record(id).results.map(\.token) == [third])
    #expect(try await fleet.redis("ZCARD", keys.scheduled).integer == 0)
    #expect(try await fleet.gateway.ledger().received == 1)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a job that could not be looked up when it was claimed replaces the scheduled one`() async throws {
    let worker = try await fleet.worker(on: queue)
    let keys = QueueKeys(queue: queue)
    let (first, second) = (fleet.uniqueToken(), fleet.uniqueToken())
    let id = "\(queue)-reminder"
    try await fleet.enqueue(job(id, first, ",\(inAnHour())"), on: queue)
    try await eventually("it is scheduled") { try await fleet.redis("ZCARD", keys.scheduled).integer == 1 }
    // The script that looks jobs up fails.
    try await fleet.redis("SET", keys.pauses, "no hash")
    try await fleet.enqueue(job(id, second), on: queue)
    _ = try await fleet.record(id, "its first attempt") { $0.status == "retrying" }
    try await fleet.redis("DEL", keys.pauses)
    #expect(try await fleet.record(id).results.map(\.token) == [second])
    #expect(try await fleet.redis("ZCARD", keys.scheduled).integer == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `of two jobs that are claimed together the later one replaces the earlier`() async throws {
    let (first, second) = (fleet.uniqueToken(), fleet.uniqueToken())
    let id = "\(queue)-reminder"
    try await fleet.enqueue(job(id, first, ",\(inAnHour())"), job(id, second), on: queue)
    let worker = try await fleet.worker(on: queue)
    #expect(try await fleet.record(id).results.map(\.token) == [second])
    #expect(try await fleet.redis("ZCARD", QueueKeys(queue: queue).scheduled).integer == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: ["a b", "", "%s", "{x}", "\u{1B}[2J"])
  func `an id that no job can have is wrong usage`(id: String) async throws {
    let child = try await fleet.martlet("cancel", id, environment: ["MARTLET_QUEUES": queue])
    #expect(child.exitCode == 2)
    #expect(child.lines.allSatisfy { !$0.contains("\u{1B}") })
  }
}

import DashboardSupport
import EventLoop
import Foundation
import Jobs
import Redis
import Telemetry
import TestSupport

@testable import Dashboard
@testable import Queue

/// A dashboard, and jobs in every state of a queue.
@EventLoop
struct JobsFixture {
  let dashboard: DashboardFixture
  let keys = QueueKeys(queue: "push:jobs")

  init() async throws {
    dashboard = try await DashboardFixture()
  }

  func stop() async { await dashboard.stop() }

  @discardableResult
  func run(_ name: StaticString, _ words: [[UInt8]]) async throws -> RedisValue {
    try await dashboard.redis.send(RedisCommand(name, words))
  }

  func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  func length(_ command: StaticString, _ key: String) async throws -> Int64? {
    try await dashboard.redis.send(RedisCommand(command, key)).integer
  }

  func wait(_ job: String) async throws { try await wait(bytes(job)) }

  func wait(_ job: [UInt8]) async throws { try await run("LPUSH", [bytes(keys.queue), job]) }

  /// Puts a job into `retry` or `scheduled`, as a worker does.
  func delay(_ id: String, in place: DueLocator.Place, due: Int64, job: String? = nil, attempts: Int = 1) async throws {
    let job = job ?? #"{"id":"\#(id)","to":{"user":"alice"},"title":"x"}"#
    let element = Envelope(attempts: attempts, nonce: "n.\(id)", job: bytes(job)).element
    let key = place == .retry ? keys.retry : keys.scheduled
    try await run("ZADD", [bytes(key), bytes(String(due)), element])
    try await run("SET", [bytes(keys.due(id)), bytes("\(place.rawValue) \(due) ") + DueLocator.head(element)])
  }

  /// Buries a job, as a worker does.
  func bury(_ id: String, reason: String = "Unregistered", at: Int64, job: [UInt8]? = nil) async throws {
    let job = job ?? bytes(#"{"id":"\#(id)","to":{"user":"alice"},"app":"com.example.app","title":"secret text"}"#)
    let letter = DeadLetter(
      id: id, reason: reason, at: at, attempts: 3, envelope: Envelope(attempts: 2, nonce: "n.\(at)", job: job))
    try await run("ZADD", [bytes(keys.dead), bytes(String(at)), letter.bytes])
    try await run("SET", [bytes(keys.due(id)), bytes("d \(at) ") + DueLocator.head(ofLetter: id)])
  }

  /// The values of the boxes on a page of dead letters.
  func boxes(_ page: WebAnswer) -> [String] {
    page.body.components(separatedBy: "name=\"letter\" value=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
      .map(String.init)
  }

  /// The newest entries of the audit log, as `action subject outcome`.
  func audit() async throws -> [String] {
    try await dashboard.dashboardAudit().map { "\($0.action) \($0.subject) \($0.outcome)" }
  }
}

extension DashboardFixture {
  fileprivate func dashboardAudit() async throws -> [AuditEntry] {
    try await AuditLog(connection: redis, log: .silent).read(before: nil, count: 20)
  }
}

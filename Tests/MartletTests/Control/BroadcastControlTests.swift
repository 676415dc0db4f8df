import FleetSupport
import Foundation
import Redis
import Testing
import TestSupport
@testable import Queue

/// Operators pause, resume and cancel broadcasts.
@Suite(.serialized) struct BroadcastControlTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let app: String
  private let id: String
  private let queue: String

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
    app = "com.example.\(fleet.unique("news"))"
    id = fleet.unique("broadcast")
    queue = fleet.unique("jobs")
  }

  private struct Shown: Decodable {
    let state: String
    let accepted: Int
    let audience: Int
    let passed: Int
  }

  private func broadcast(_ words: String..., code: Int32 = 0) async throws -> [String] {
    let child = try await fleet.martlet(["broadcast"] + words, environment: ["MARTLET_QUEUES": queue])
    #expect(child.exitCode == code, "\(child.lines)")
    return child.lines(of: .output)
  }

  private func show() async throws -> Shown {
    let line = try #require(try await broadcast("show", id, "--json").first)
    return try JSONDecoder().decode(Shown.self, from: Data(line.utf8))
  }

  /// Of a broadcast that takes a minute until ``finishQuickly()``.
  private static let devices = 10_000

  /// Starts a broadcast, slowly, and waits until a page is committed.
  private func begin() async throws -> FleetWorker {
    try await fleet.register(fleet.uniqueTokens(Self.devices), to: fleet.unique("readers"), bundleID: app)
    try await fleet.gateway.settings(#"{"rttMs":200,"maxStreams":40}"#)
    let worker = try await fleet.worker(on: queue)
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: queue)
    try await eventually("a page is committed") {
      try await fleet.redis("KEYS", "martlet:{\(queue)}:progress:*").array != []
    }
    return worker
  }

  private func finishQuickly() async throws { try await fleet.gateway.settings(#"{"rttMs":0,"maxStreams":1000}"#) }

  private func isKept() async throws -> Bool {
    try await fleet.redis("ZCARD", QueueKeys(queue: queue).scheduled).integer == 1
  }

  @Test func `a paused broadcast keeps its progress, survives its worker, and holds up nothing`() async throws {
    let worker = try await begin()
    #expect(try await broadcast("pause", id, "--by", "anna") == ["\(id) is paused"])
    try await eventually("it is kept in Redis") { try await isKept() }
    let shown = try await show()
    #expect(shown.state == "paused")
    #expect(shown.audience == Self.devices)
    let sent = try await fleet.gateway.ledger().accepted
    #expect(sent > 0 && sent < Self.devices)
    #expect(shown.accepted == sent)
    #expect(shown.passed == sent)
    try await worker.kill()
    try await fleet.forgetHeartbeat(of: worker)
    let second = try await fleet.worker(on: queue)
    let token = fleet.uniqueToken()
    try await fleet.enqueue(#"{"id":"\#(id)-other","to":{"token":"\#(token)"},"title":"x"}"#, on: queue)
    #expect(try await fleet.record("\(id)-other").status == "accepted")
    #expect(try await isKept())
    #expect(try await fleet.gateway.ledger().accepted == sent + 1)
    try await finishQuickly()
    #expect(try await broadcast("resume", id) == ["\(id) continues"])
    let record = try await fleet.record(id)
    #expect(record.status == "accepted")
    #expect(record.accepted == Self.devices)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.distinct == Self.devices + 1)
    #expect(ledger.duplicates == 0)
    #expect(try await show().state == "finished")
    #expect(try await second.stop() == 0)
    _ = try await broadcast("resume", id, code: 1)
    _ = try await broadcast("pause", id, code: 1)
  }

  @Test func `a broadcast whose worker is killed while it is being paused is not continued by another`() async throws {
    let worker = try await begin()
    _ = try await broadcast("pause", id)
    try await worker.kill()
    try await fleet.forgetHeartbeat(of: worker)
    let second = try await fleet.worker(on: queue)
    try await eventually("it is kept in Redis") { try await isKept() }
    let before = try await fleet.gateway.ledger()
    #expect(before.accepted < Self.devices)
    try await finishQuickly()
    _ = try await broadcast("resume", id)
    let record = try await fleet.record(id)
    #expect(record.accepted == Self.devices)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.distinct == Self.devices)
    #expect(ledger.duplicates <= 500)
    #expect(try await second.stop() == 0)
  }

  @Test func `a cancelled broadcast stops at its next page, and its record says what it has sent`() async throws {
    let worker = try await begin()
    // The command waits 5 s for the pushes in flight, which is not enough on a slow machine.
    _ = try await fleet.martlet("broadcast", "cancel", id, environment: ["MARTLET_QUEUES": queue])
    let record = try await fleet.record(id)
    #expect(record.status == "cancelled")
    #expect(record.accepted > 0 && record.accepted < Self.devices)
    #expect(try await fleet.gateway.ledger().accepted == record.accepted)
    #expect(try await show().state == "cancelled")
    #expect(try await fleet.unsettled(queue) == 0)
    #expect(try await worker.stop() == 0)
    #expect(try await fleet.redis("KEYS", "martlet:{\(queue)}:progress:*").array == [])
    try await finishQuickly()
  }

  @Test func `a paused broadcast is cancelled at once`() async throws {
    let worker = try await begin()
    _ = try await broadcast("pause", id)
    try await eventually("it is kept in Redis") { try await isKept() }
    let sent = try await fleet.gateway.ledger().accepted
    #expect(try await worker.stop() == 0)
    let child = try await fleet.martlet("cancel", id, environment: ["MARTLET_QUEUES": queue])
    #expect(child.exitCode == 0, "\(child.lines)")
    let record = try await fleet.record(id)
    #expect(record.status == "cancelled")
    #expect(record.accepted == sent)
    #expect(try await !isKept())
    try await finishQuickly()
  }

  @Test func `unknown broadcasts and wrong ids are refused`() async throws {
    for verb in ["show", "pause", "resume", "cancel"] {
      _ = try await broadcast(verb, "no-such-broadcast", code: 1)
      _ = try await broadcast(verb, "a b", code: 2)
    }
    #expect(try await broadcast("list") == ["no broadcasts"])
  }
}

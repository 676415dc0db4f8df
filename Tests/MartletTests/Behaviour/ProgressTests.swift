import FleetSupport
import Redis
import Testing
import TestSupport

@testable import Queue

/// The progress of a broadcast in Redis.
struct ProgressTests {
  private static let shared = Task { try await Fleet() }

  @Test func `the list of devices is written only when it has changed, and goes with the progress`() async throws {
    let fleet = try await Self.shared.value
    let keys = QueueKeys(queue: fleet.unique("jobs"))
    let (progress, list, tombstone) = (keys.progress("nonce"), keys.progressList("nonce"), keys.tombstone("worker"))
    func commit(_ cursor: String, listed: String) async throws -> Int64? {
      let call = QueueScripts.commitProgress(
        progress: progress, list: list, tombstone: tombstone, cursor: cursor, value: Array("\(cursor)\n{}".utf8),
        listed: Array(listed.utf8),
        ttl: 60_000)
      return try await fleet.connection.send(call).integer
    }
    #expect(try await commit("1", listed: "first") == 1)
    #expect(try await commit("2", listed: "") == 1)
    #expect(try await fleet.redis("MGET", progress, list).array?.compactMap(\.string) == ["2\n{}", "first"])
    // Of a worker that comes late.
    #expect(try await commit("1", listed: "late") == 0)
    #expect(try await fleet.redis("GET", list).string == "first")
    let clear = QueueScripts.clearProgress(progress: progress, list: list, tombstone: tombstone)
    #expect(try await fleet.connection.send(clear).integer == 2)
  }

  @Test func `a fenced worker does not remove the progress of its successor`() async throws {
    let fleet = try await Self.shared.value
    let keys = QueueKeys(queue: fleet.unique("jobs"))
    let (progress, tombstone) = (keys.progress("nonce"), keys.tombstone("frozen"))
    try await fleet.redis("SET", progress, "cursor\n{}")
    try await fleet.redis("SET", tombstone, "")
    let clear = QueueScripts.clearProgress(progress: progress, list: keys.progressList("nonce"), tombstone: tombstone)
    #expect(try await fleet.connection.send(clear).integer == 0)
    #expect(try await fleet.redis("EXISTS", progress).integer == 1)
    try await fleet.redis("DEL", tombstone)
    #expect(try await fleet.connection.send(clear).integer == 1)
    #expect(try await fleet.redis("EXISTS", progress).integer == 0)
  }
}

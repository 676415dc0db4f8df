import Redis
import TestSupport
import Testing

@testable import Queue

/// The progress of a broadcast in Redis.
struct ProgressTests {
  private static let shared = Task { try await Fleet() }

  @Test func `a fenced worker does not remove the progress of its successor`() async throws {
    let fleet = try await Self.shared.value
    let keys = QueueKeys(queue: fleet.unique("jobs"))
    let (progress, tombstone) = (keys.progress("nonce"), keys.tombstone("frozen"))
    try await fleet.redis("SET", progress, "cursor\n{}")
    try await fleet.redis("SET", tombstone, "")
    let clear = QueueScripts.clearProgress(progress: progress, tombstone: tombstone)
    #expect(try await fleet.connection.send(clear).integer == 0)
    #expect(try await fleet.redis("EXISTS", progress).integer == 1)
    try await fleet.redis("DEL", tombstone)
    #expect(try await fleet.connection.send(clear).integer == 1)
    #expect(try await fleet.redis("EXISTS", progress).integer == 0)
  }
}

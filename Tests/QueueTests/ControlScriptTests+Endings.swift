import EventLoop
import Redis
import TestSupport
import Testing

@testable import Jobs
@testable import Queue

/// What is left when jobs and broadcasts have ended.
extension ControlScriptTests {
  // MARK: - Long queues

  @Test func `a look at large elements reads few of them`() async throws {
    for _ in 0..<12 { try await send("LPUSH", keys.queue, String(repeating: "x", count: 100_000)) }
    let answer = try await connection.run(
      ControlScripts.look, keys: [keys.queue, keys.seal], arguments: ["a", "0", "1000", "500000", "sealed"])
    #expect(answer.array?.prefix(2) == [.integer(12), .integer(5)])
    let all = try await connection.run(
      ControlScripts.look, keys: [keys.queue, keys.seal], arguments: ["a", "0", "1000", "9000000", "sealed"])
    #expect(all.array?.prefix(2) == [.integer(12), .integer(12)])
  }

  // MARK: - Workers

  @Test func `a dead worker is drained no more`() async throws {
    for key in [keys.workers, keys.drained] { try await send("SADD", key, "gone") }
    let scriptKeys = [
      keys.heartbeat("gone"), keys.inflight("gone"), keys.queue, keys.workers, keys.dead, keys.tombstone("gone"),
      keys.landing("gone"), keys.seal, keys.drained,
    ]
    let answer = try await connection.run(
      QueueScripts.reap, keys: scriptKeys, arguments: ["gone", "100", "3", "1", "{}\n", "1000"])
    #expect(answer.array?.first?.integer == 0)
    #expect(try await send("EXISTS", keys.workers, keys.drained).integer == 0)
  }
}

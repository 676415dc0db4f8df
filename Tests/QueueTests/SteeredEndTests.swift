import EventLoop
import Redis
import TestSupport
import Testing

@testable import Jobs
@testable import Queue

/// What operators have asked of jobs, broadcasts and workers ends with them.
@EventLoop
@Suite(.serialized)
struct SteeredEndTests {
  // MARK: - Drained workers

  @Test func `a drained worker that is fenced stays drained under its new name alone`() async throws {
    let fixture = try await QueueFixture()
    try await eventually("it has joined") {
      try await fixture.send("SISMEMBER", fixture.keys.workers, fixture.queue.lease.name.value).integer == 1
    }
    let old = fixture.queue.lease.name.value
    #expect(try await WorkerControl(queues: [fixture.keys.queue], connection: fixture.redis).drain(old))
    try await eventually("it is drained") { fixture.queue.isDraining }
    try await fixture.send("SET", fixture.keys.tombstone(old), "")
    fixture.queue.lease.beat()
    try await eventually("it has another name") { fixture.queue.lease.name.value != old }
    let new = fixture.queue.lease.name.value
    try await eventually("the new name is drained") {
      try await fixture.send("SISMEMBER", fixture.keys.drained, new).integer == 1
    }
    #expect(try await fixture.send("SMEMBERS", fixture.keys.drained).array?.compactMap(\.string) == [new])
    #expect(fixture.queue.isDraining)
    await fixture.stop()
  }
}

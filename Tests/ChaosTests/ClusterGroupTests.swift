import EventLoop
import Redis
import RedisSupport
import TestSupport
import Testing

@testable import Chaos

/// A real cluster. The judge relies on this: no fault that a run injects loses what Redis has confirmed.
@EventLoop
struct ClusterGroupTests {
  private static let queues = ["first", "second"]

  @Test func `no fault of a cluster loses a confirmed write, and the state of all queues is seen after each`()
    async throws
  {
    let group = try await ClusterGroup(queues: Self.queues, deviceKeys: Population().keys)
    let connection = try await RedisClient.connected(to: group.url)
    let state = QueueState(connection: connection, queues: Self.queues)
    let kinds: [FaultKind] = [
      .queueMoved, .primaryFailover, .devicesMoved, .redisKilled, .plannedFailover, .queueMoved,
    ]
    for (number, kind) in kinds.enumerated() {
      for queue in Self.queues {
        _ = try await connection.send(RedisCommand("LPUSH", queue, "job"))
        _ = try await connection.send(RedisCommand("ZADD", "martlet:{\(queue)}:retry", "1", "job-\(number)"))
      }
      for shard in 0..<3 where kind != .redisKilled || shard == 0 {
        try await group.inject(step(kind, number, shard), for: .milliseconds(50))
      }
      try await connection.ready(within: patience)
      let count = number + 1
      #expect(
        try await state.jobs().sorted() == [
          "first \(count)", "martlet:{first}:retry \(count)", "martlet:{second}:retry \(count)", "second \(count)",
        ], "\(kind)")
    }
  }

  private func step(_ kind: FaultKind, _ number: Int, _ shard: Int) -> Step {
    Step(
      number: number, kind: kind, worker: 0, milliseconds: 50, amount: number + shard, isProcessed: false, gap: 0,
      shard: shard)
  }
}

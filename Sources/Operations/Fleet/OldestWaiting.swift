import EventLoop
import Jobs
public import Queue
public import Redis

/// What is known about the oldest waiting job of a queue.
public enum OldestWaiting: Sendable, Equatable {
  /// No job waits.
  case none
  /// A producer's job; unix milliseconds, nil if it does not tell since when it waits.
  case job(since: Int64?)
  /// One that the fleet put back, which says nothing about the queue.
  case returned

  /// Reads the oldest job of a queue. `waitingSince` returns the time of a job's bytes.
  @EventLoop
  public static func read(
    _ queue: String, from connection: RedisClient, waitingSince: WaitingSince
  ) async throws(RedisError) -> OldestWaiting {
    let keys = QueueKeys(queue: queue)
    let reply = try await connection.run(
      QueueScripts.oldest, keys: [keys.queue, keys.seal], arguments: ["\(Job.maximumBytes)"])
    switch reply {
    case .bytes(let job): return .job(since: waitingSince(job))
    case .integer: return .job(since: nil)
    default: return try await connection.send(RedisCommand("LLEN", keys.queue)).integer ?? 0 == 0 ? .none : .returned
    }
  }
}

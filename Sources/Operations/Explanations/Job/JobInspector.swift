public import EventLoop
import Policy
import Queue
public import Redis

/// Explains jobs: reads what Redis knows of one and puts it into sentences.
///
/// An explanation takes a few commands, none of which depends on the length of a backlog.
@EventLoop
public struct JobInspector {
  private let connection: RedisClient
  private let queues: [String]

  /// `queues` are those of the fleet.
  public init(connection: RedisClient, queues: [String]) {
    self.connection = connection
    self.queues = queues
  }

  /// Explains a job by its id, which may be any text.
  public func explain(_ id: String) async throws(RedisError) -> JobExplanation {
    try await explain(try await JobLocator(queues: queues, connection: connection).locate(id))
  }

  /// Explains a job that was located just now.
  public func explain(_ location: JobLocation) async throws(RedisError) -> JobExplanation {
    JobExplanation(try await facts(of: location))
  }

  private func facts(of location: JobLocation) async throws(RedisError) -> JobFacts {
    var facts = JobFacts(location: location, now: Clock.unixMilliseconds, localTime: .system)
    if let queue = location.queue, location.isAlive {
      facts.pause = try await QueueControl(queue: queue, connection: connection).currentPause()
    }
    facts.workers = try await QueueOverview.read(queues, from: connection).workers
    return facts
  }
}

import EventLoop
import Jobs
import Queue
public import Redis

/// Explains jobs: reads what Redis knows of one and puts it into sentences.
///
/// An explanation takes a few commands, none of which depends on the length of a backlog.
extension FleetQueues {
  /// Explains a job that was located just now.
  public func explain(_ location: JobLocation) async throws(RedisError) -> JobExplanation {
    var facts = JobFacts(location: location, now: Clock.unixMilliseconds, localTime: .system)
    if let queue = location.queue, location.isAlive {
      facts.pause = try await QueueControl(queue: queue, connection: connection).currentPause()
    }
    facts.workers = try await QueueOverview.read(names, from: connection).workers
    return JobExplanation(facts)
  }
}

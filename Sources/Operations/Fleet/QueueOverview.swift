public import EventLoop
public import JSON
import Jobs
public import Queue
public import Redis

/// The lengths of a queue's lists, and its workers.
public struct QueueOverview: Sendable, Equatable {
  public var queue: String
  public var waiting: Int64
  /// Jobs in flight by the names of their workers, also of those without a heartbeat.
  public var jobsInFlight: [String: Int64] = [:]
  public var retry: Int64
  public var scheduled: Int64
  public var dead: Int64
  /// Nil unless an operator has paused the queue.
  public var pause: QueuePause?
  /// The reports of the living workers, by name.
  public var workers: [String: WorkerReport]
  /// Since when the oldest job waits, unix ms; nil if no job waits, or if that is not known or was not read.
  public var waitingSince: Int64?

  public var inFlight: Int64 { jobsInFlight.values.reduce(0, +) }

  public var object: JSONObject {
    [
      "queue": queue, "waiting": waiting, "inFlight": inFlight, "retry": retry, "scheduled": scheduled, "dead": dead,
      "paused": pause,
    ]
  }
}

@EventLoop
extension QueueOverview {
  /// Reads the overviews of queues, in their order, in two exchanges. A key of another type counts as empty. Throws if a
  /// length is not a number.
  public static func read(_ queues: [String], from connection: RedisClient) async throws(RedisError) -> [QueueOverview]
  {
    let (found, heartbeats) = try await QueueNumbers.read(queues.map(QueueKeys.init(queue:)), from: connection)
    let reports = heartbeats.compactMapValues { WorkerReport(json: $0) }
    return found.map { numbers in
      QueueOverview(
        queue: numbers.keys.queue, waiting: numbers.waiting, jobsInFlight: numbers.jobsInFlight, retry: numbers.retry,
        scheduled: numbers.scheduled, dead: numbers.dead, pause: numbers.control.flatMap(QueuePause.init(control:)),
        workers: reports.filter { numbers.jobsInFlight[$0.key] != nil })
    }
  }

  /// Reads the overviews of queues, and since when the oldest job of each waits.
  public static func readWithAges(
    _ queues: [String], from connection: RedisClient
  ) async throws(RedisError) -> [QueueOverview] {
    var overviews = try await read(queues, from: connection)
    for (index, queue) in queues.enumerated() {
      overviews[index].waitingSince = try await waitingSince(QueueKeys(queue: queue), from: connection)
    }
    return overviews
  }

  /// A job that the fleet put back says nothing about the queue. A key of another type counts as empty.
  private static func waitingSince(_ keys: QueueKeys, from connection: RedisClient) async throws(RedisError) -> Int64? {
    do {
      let reply = try await connection.send(
        QueueScripts.oldest(queue: keys.queue, seal: keys.seal, limit: Job.maximumBytes))
      return reply.bytes.flatMap { (try? Job(stored: $0))?.waitingSince(now: Clock.unixMilliseconds) }
    } catch  where error.isWrongType {
      return nil
    }
  }
}

extension Sequence<WorkerReport> {
  /// Jobs that these workers end in a second.
  public var jobsPerSecond: Double { reduce(0) { $0 + $1.jobsPerSecond } }
}

extension [QueueOverview] {
  /// The reports of the living workers of all queues, by name.
  public var workers: [String: WorkerReport] {
    reduce(into: [:]) { $0.merge($1.workers) { first, _ in first } }
  }
}

public import Redis

/// The Redis keys of a queue. Their hash tag is the name of its list, so all are in the hash slot of the list.
public struct QueueKeys: Sendable, Equatable {
  /// The producers' list, for example `push:jobs`.
  public let queue: String
  /// Sorted set of jobs that are retried, by due time in unix milliseconds.
  public let retry: String
  /// Sorted set of jobs whose `sendAt` has not come, by due time in unix milliseconds, and of paused broadcasts.
  public let scheduled: String
  /// Sorted set of dead letters, by the time at which they were given up in unix milliseconds.
  public let dead: String
  /// Set of the workers that may have an in-flight list.
  public let workers: String
  /// String with a TTL: the name of the worker that promotes and reaps. The key ends in `keeper`.
  public let promoter: String
  /// String: the word in front of the fleet's own elements in the queue's list, see ``Seal``.
  public let seal: String
  /// String: what operators have asked of the queue, a ``ControlState``. Absent while that is nothing.
  public let control: String
  /// Sorted set of the ids of cancelled jobs, by the time at which the cancellation ends in unix milliseconds.
  public let cancelled: String
  /// Hash: by the ids of paused broadcasts, JSON that says since when, by whom and why. Their jobs are in ``scheduled``, behind
  /// every date.
  public let pauses: String
  /// Hash: where an earlier version kept the jobs of paused broadcasts, by id and nonce.
  public let pausedJobs: String
  /// Set of the workers that claim no more jobs.
  public let drained: String
  /// Sorted set of the ids of the latest broadcasts, by the time of their last change in unix milliseconds.
  public let broadcasts: String

  private let prefix: String

  /// Reads the names of ``workers``; of a larger set some at random, so that reading their heartbeats stays bounded.
  public var namesOfWorkers: RedisCommand { RedisCommand("SRANDMEMBER", workers, "\(QueueLimits.workersRead)") }

  public init(queue: String) {
    self.queue = queue
    prefix = "martlet:{\(queue)}:"
    retry = prefix + "retry"
    scheduled = prefix + "scheduled"
    dead = prefix + "dead"
    workers = prefix + "workers"
    promoter = prefix + "keeper"
    seal = prefix + "seal"
    control = prefix + "control"
    cancelled = prefix + "cancelled"
    pauses = prefix + "held"
    pausedJobs = prefix + "paused"
    drained = prefix + "drained"
    broadcasts = prefix + "broadcasts"
  }

  /// List of the jobs that `worker` has claimed and not settled, newest first.
  public func inflight(_ worker: String) -> String { prefix + "inflight:" + worker }

  /// List of the elements that Redis moved here for a waiting connection of `worker`, which has not claimed them yet.
  public func landing(_ worker: String) -> String { prefix + "landing:" + worker }

  /// String with a TTL, a ``WorkerReport``. The worker is alive as long as it exists.
  public func heartbeat(_ worker: String) -> String { prefix + "heartbeat:" + worker }

  /// String with a TTL. Exists if the worker was taken for dead and its jobs were moved back to the queue.
  public func tombstone(_ worker: String) -> String { prefix + "tombstone:" + worker }

  /// String: the progress of a broadcast, a line with its cursor, then JSON of ``AttemptState``.
  public func progress(_ nonce: String) -> String { prefix + "progress:" + nonce }

  /// String: JSON of the ``JobResult`` whose devices a broadcast's progress lists.
  package func progressList(_ nonce: String) -> String { progress(nonce) + ":list" }

  /// String with a TTL: where a job with this id is in ``retry``, ``scheduled`` or ``dead``, a ``DueLocator``.
  public func due(_ jobID: String) -> String { prefix + "due:" + jobID }

  /// String with a TTL: a broadcast, JSON of ``BroadcastEntry``.
  public func broadcast(_ jobID: String) -> String { prefix + "broadcast:" + jobID }

  /// String: the record of a job.
  public static func result(_ jobID: String) -> String { String(key: "push:result:", jobID) }

  /// String: the nonce of the job that was sent under a `dedupe` value, in any queue.
  public static func dedupe(_ value: String) -> String { "martlet:{dedupe}:" + value }

  /// Stream of a user's notification records.
  public static func notifications(_ username: String) -> String { "push:user:\(username)\(notificationsEnd)" }

  /// Stream of an instance's notification records.
  public static func instanceNotifications(_ id: String) -> String { "push:instance:\(id)\(notificationsEnd)" }

  /// Whether the key is that of a stream of notification records.
  static func isNotifications(_ key: String) -> Bool {
    key.hasSuffix(notificationsEnd) && (key.hasPrefix("push:user:") || key.hasPrefix("push:instance:"))
  }

  private static let notificationsEnd = ":notifications"
}

/// Every Redis key of a queue. The whole list name is the hash tag, so all of them live in the slot of the list itself.
public struct QueueKeys: Sendable, Equatable {
  /// The producers' list, for example `push:jobs`.
  public let queue: String
  /// Sorted set of jobs to run again, by due time in unix milliseconds.
  public let retry: String
  /// Sorted set of jobs whose `sendAt` has not come, by due time in unix milliseconds.
  public let scheduled: String
  /// Sorted set of dead letters, by time of death in unix milliseconds.
  public let dead: String
  /// Set of the workers that may have an in-flight list.
  public let workers: String
  /// Held by the worker that promotes and reaps, with a TTL.
  public let keeper: String
  /// String: the word in front of the fleet's own elements in the queue's list.
  public let seal: String

  private let prefix: String

  public init(queue: String) {
    self.queue = queue
    prefix = "martlet:{\(queue)}:"
    retry = prefix + "retry"
    scheduled = prefix + "scheduled"
    dead = prefix + "dead"
    workers = prefix + "workers"
    keeper = prefix + "keeper"
    seal = prefix + "seal"
  }

  /// List of what `worker` has claimed and not settled, newest first.
  public func inflight(_ worker: String) -> String { prefix + "inflight:" + worker }

  /// List of what a blocked connection of `worker` has been given and is about to claim.
  public func landing(_ worker: String) -> String { prefix + "landing:" + worker }

  /// String with a TTL: the worker lives. Its value is a ``WorkerReport``.
  public func heartbeat(_ worker: String) -> String { prefix + "heartbeat:" + worker }

  /// String with a TTL: the worker was taken for dead and its jobs were given to others.
  public func tombstone(_ worker: String) -> String { prefix + "tombstone:" + worker }

  /// String: how far the broadcast of a job has come, a cursor line and ``AttemptState``.
  public func progress(_ nonce: String) -> String { prefix + "progress:" + nonce }

  /// Record of a job, for the producer.
  public static func result(_ jobID: String) -> String { "push:result:" + jobID }

  /// Holder of a `dedupe` value, whatever the queue.
  public static func dedupe(_ value: String) -> String { "martlet:{dedupe}:" + value }

  /// Stream of a user's notification records, for polling.
  public static func notifications(_ username: String) -> String { "push:user:\(username):notifications" }

  /// The same of an instance.
  public static func instanceNotifications(_ id: String) -> String { "push:instance:\(id):notifications" }
}

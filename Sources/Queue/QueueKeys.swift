public import PushModel
public import Redis

/// The Redis keys of a queue. Their hash tag is the name of its list, so all are in the hash slot of the list.
///
/// The comments of keys are the rows of docs/redis-keys.md: key, type, time to live, content. Times are unix milliseconds.
public struct QueueKeys: Sendable, Equatable {
  /// | a queue, for example `push:jobs` | list | jobs; producers LPUSH, workers take from the right |
  public let queue: String
  /// | `martlet:{<queue>}:retry` | sorted set | none | jobs that are retried, by due time |
  public let retry: String
  /// | `martlet:{<queue>}:scheduled` | sorted set | none | jobs with a `sendAt`, and jobs deferred by a policy, by due
  /// time; jobs of paused broadcasts, with the score 253402300800000 |
  public let scheduled: String
  /// | `martlet:{<queue>}:dead` | sorted set | none | dead letters, by the time at which they were given up; at most
  /// 100,000. A line of JSON `{"id","reason","at","attempts"}`, then the job. |
  public let dead: String
  /// | `martlet:{<queue>}:workers` | set | none | workers that may have jobs in flight |
  public let workers: String
  /// | `martlet:{<queue>}:keeper` | string | 4 s | the name of the worker that is promoter and reaper: it moves due jobs
  /// and dead workers' jobs to the front of the queue |
  public let promoter: String
  /// ``Seal``:
  /// | `martlet:{<queue>}:seal` | string | none | a random word, made by the first worker. It is in front of the elements
  /// that the fleet itself puts into the queue, so that no producer can imitate one. |
  public let seal: String
  /// ``ControlState``:
  /// | `martlet:{<queue>}:control` | string | none | what operators have asked of the queue; absent while they have asked
  /// nothing: `<version> <letters>`, `P` paused (then a line feed and JSON `{"since","by","reason"}`), `C` jobs are
  /// cancelled, `B` broadcasts are paused, `D` workers are drained, `S` jobs with ids of their producers are scheduled.
  /// [Control](architecture.md#control) |
  public let control: String
  /// | `martlet:{<queue>}:cancelled` | sorted set | none | ids that are cancelled, by the time at which that ends (24 h);
  /// `martlet dead requeue` and the resume of a broadcast take an id out; at most 10,000 |
  public let cancelled: String
  /// | `martlet:{<queue>}:held` | hash | none | paused broadcasts by their ids: JSON `{"since","by","reason"}`; at most
  /// 1,000 |
  public let pauses: String
  /// | `martlet:{<queue>}:paused` | hash | none | written by builds between 1.0.0 and this version only: jobs of paused
  /// broadcasts. A worker moves them to the queue, where they are paused again. |
  public let pausedJobs: String
  /// | `martlet:{<queue>}:drained` | set | none | workers that claim no more jobs |
  public let drained: String
  /// | `martlet:{<queue>}:broadcasts` | sorted set | none | ids of the latest broadcasts, by the time of their last change;
  /// at most 1,000 |
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

  /// | `martlet:{<queue>}:inflight:<worker>` | list | none | jobs that the worker has claimed, newest first |
  public func inflight(_ worker: String) -> String { prefix + "inflight:" + worker }

  /// | `martlet:{<queue>}:landing:<worker>` | list | none | elements that Redis moved here for a waiting worker, which has
  /// not claimed them yet |
  public func landing(_ worker: String) -> String { prefix + "landing:" + worker }

  /// ``WorkerReport``:
  /// | `martlet:{<queue>}:heartbeat:<worker>` | string | 15 s | JSON, at most 8 KiB: the worker's state, as `martlet status
  /// --json` shows it. Without it the worker is dead. |
  public func heartbeat(_ worker: String) -> String { prefix + "heartbeat:" + worker }

  /// | `martlet:{<queue>}:tombstone:<worker>` | string | 7 days | empty. The worker was taken for dead and its jobs were
  /// moved back to the queue; the key fences the worker if it is still alive. |
  public func tombstone(_ worker: String) -> String { prefix + "tombstone:" + worker }

  /// ``AttemptState``:
  /// | `martlet:{<queue>}:progress:<nonce>` | string | 7 days | the progress of a broadcast: a line with its cursor, then
  /// JSON with the counts; deleted when the broadcast ends |
  public func progress(_ nonce: String) -> String { prefix + "progress:" + nonce }

  /// ``JobResult``:
  /// | `martlet:{<queue>}:progress:<nonce>:list` | string | 7 days | the devices that its record will list, up to 100;
  /// written only when they change; deleted with it |
  package func progressList(_ nonce: String) -> String { progress(nonce) + ":list" }

  /// ``DueLocator``:
  /// | `martlet:{<queue>}:due:<id>` | string | a day after the due time; 30 days for a dead job | where the job is in
  /// `retry`, `scheduled` or `dead`: `r`, `s` or `d`, its score, and the beginning of its element, by which it is found. It
  /// may be out of date. |
  public func due(_ jobID: String) -> String { prefix + "due:" + jobID }

  /// ``BroadcastEntry``:
  /// | `martlet:{<queue>}:broadcast:<id>` | string | 7 days | JSON: `id`, `app`, `state`, `worker`, `nonce`, `startedAt`,
  /// `changedAt` |
  public func broadcast(_ jobID: String) -> String { prefix + "broadcast:" + jobID }

  /// | `push:result:<id>` | string, `MARTLET_RESULT_TTL` | the [record](jobs.md#records) of a job |
  /// | the list of a `replyTo` | list, 1 hour if Martlet created it | final records |
  public static func result(_ jobID: String) -> String { String(key: "push:result:", jobID) }

  /// | `martlet:{<queue>}:dedupe:<app>:<value>` | string | 24 h; 5 minutes of a job with `pusher` | nonce of the job of this queue
  /// that was sent under this `dedupe` value; `<app>` is the bundle id that the job names, or empty |
  package func dedupe(_ value: String, app: String?) -> String { prefix + "dedupe:" + (app ?? "") + ":" + value }

  /// | `martlet:{dedupe}:<value>` | string | 24 h | written by 2.0.0: the same, for every queue and app |
  package static func formerDedupe(_ value: String) -> String { "martlet:{dedupe}:" + value }

  /// | `push:user:<username>:notifications`, `push:instance:<id>:notifications` | stream, about 1,000 entries, 30 days from
  /// the last one | field `notification`: JSON `{"id","at","status","payload"}`, for
  /// [polling](http/push-api.md#notifications) |
  public static func notifications(_ username: Username) -> String { notifications(form: username.text) }

  /// The stream of a user whose name is stored as `form`.
  static func notifications(form: String) -> String { "push:user:\(form)\(notificationsEnd)" }

  /// Stream of an instance's notification records.
  public static func instanceNotifications(_ id: String) -> String { "push:instance:\(id)\(notificationsEnd)" }

  /// Whether the key is that of a stream of notification records.
  static func isNotifications(_ key: String) -> Bool {
    key.hasSuffix(notificationsEnd) && (key.hasPrefix("push:user:") || key.hasPrefix("push:instance:"))
  }

  private static let notificationsEnd = ":notifications"
}

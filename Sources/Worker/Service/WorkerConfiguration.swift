package import APNs
package import EventLoop
package import Jobs
package import PushModel
package import Queue
package import Redis
package import Telemetry

/// The settings of a worker.
package struct WorkerConfiguration: Sendable {
  /// Which jobs get a record.
  package enum ResultPolicy: String, CaseIterable, Sendable { case all, failures, none }
  /// Which jobs get notification records for clients that poll.
  package enum NotificationPolicy: String, CaseIterable, Sendable { case unsent, all, off }

  package static let defaultQueues = ["push:jobs:high", "push:jobs", "push:jobs:low"]
  package static let defaultConcurrency = 512
  package static let defaultAttempts = 8
  package static let defaultResultHours = 24
  package static let defaultGraceSeconds = 25

  package var redis: RedisEndpoint
  /// The version of the program, for operators.
  package var version = ""
  /// For bundle ids that no app names. Nil if only apps are pushed to, or in polling-only mode.
  package var apns: APNsConfiguration?
  /// Without them, and without ``apns``, the worker is in polling-only mode.
  package var apps: [APNsApp] = []
  /// The app of jobs and tokens that do not name one.
  package var bundleID: String?
  package var defaultEnvironment = PushEnvironment.production
  /// In the order of their priority.
  package var queues = WorkerConfiguration.defaultQueues
  /// By queue. The other queues hold jobs alone.
  package var formats: [String: QueueFormat] = [:]
  package var mode = DeliveryMode.atLeastOnce
  /// Pushes in flight at once.
  package var concurrency = WorkerConfiguration.defaultConcurrency
  /// The shares of the permits of the configured apps, by bundle id: ``AppLanes``.
  package var appShares: [String: AppShare] = [:]
  package var maximumAttempts = WorkerConfiguration.defaultAttempts
  package var results = ResultPolicy.all
  package var resultTimeToLive = Duration.seconds(WorkerConfiguration.defaultResultHours * 3600)
  /// What the records of accepted jobs may take of Redis.
  package var recordMemory = RecordMemory.standard
  package var notifications = NotificationPolicy.unsent
  /// The classes that jobs may name. Nil if no part defines any.
  package var classes: (any JobClasses)?
  /// Whether events are written to `push:events`.
  package var writesEvents = false
  package var shutdownGrace = Duration.seconds(WorkerConfiguration.defaultGraceSeconds)
  /// Make what jobs pass behind the worker's own gates, in their order.
  package var steps: [@EventLoop @Sendable (WorkerContext) -> PartSteps] = []
  /// Make what reads files again on SIGHUP.
  package var reloads: [@EventLoop @Sendable (WorkerService, Log) -> @EventLoop () -> Void] = []
  /// Makes what runs beside the worker.
  package var companions: [@EventLoop @Sendable (WorkerContext) -> (any Service)?] = []
  /// Makes what records attempts. Nil if no part does.
  package var recorder: (@EventLoop @Sendable (WorkerContext) -> (any AttemptRecorder)?)?

  package init(redis: RedisEndpoint) {
    self.redis = redis
  }

  /// Of each queue; nil if all hold jobs alone.
  var formatsInOrder: [QueueFormat?]? { formats.isEmpty ? nil : queues.map { formats[$0] } }
}

package import APNs
package import EventLoop
package import Events
package import HTTPServer
package import Jobs
import PushModel
package import Queue
package import Redis
package import Registry
package import Telemetry

/// What parts of a worker are made with.
@EventLoop
package struct WorkerContext {
  package let configuration: WorkerConfiguration
  package let connection: RedisClient
  package let queue: JobQueue
  package let registry: Registry
  /// Nil in polling-only mode.
  package let clients: AppClients?
  package let metrics: Metrics
  package let log: Log
}

/// What the pipeline is made with.
@EventLoop
struct PipelineContext {
  let worker: WorkerContext
  let permits: Permits
  let window: SendWindow
  let observer: JobObserver
  /// Nil if no events are written.
  let events: EventLog?
  let memory: MemoryWatch

  var configuration: WorkerConfiguration { worker.configuration }
  var connection: RedisClient { worker.connection }
  var queue: JobQueue { worker.queue }
  var registry: Registry { worker.registry }
  var clients: AppClients? { worker.clients }
  var log: Log { worker.log }
}

/// A running worker: connects the pipeline with Redis and APNs, and ends without losing a job.
@EventLoop
package final class WorkerService: Service {
  private let configuration: WorkerConfiguration
  private let log: Log
  package let metrics: Metrics
  private let context: PipelineContext
  private let queue: JobQueue
  private let counters: FleetCounters
  private let recorder: (any AttemptRecorder)?
  private let pipeline: Pipeline
  private let reporter: WorkerReporter
  /// Nil without a default app.
  private let walk: DeviceWalk
  /// Nil in polling-only mode.
  private let concurrency: ConcurrencyControl?
  /// Counts the events of this process.
  package let eventMetrics: EventMetrics
  /// What runs beside the worker.
  private let companions: [any Service]
  private var phase = Phase.running
  /// Resumed when no job is left, or the grace time is over.
  private var finishing: CheckedContinuation<Void, Never>?

  /// How long the end of a worker waits for its recorder.
  private static let flushTime = Duration.seconds(2)

  private enum Phase {
    case running
    /// Claims no more jobs and waits for those in flight.
    case finishing
    /// Waits no longer: the grace time is over, or a second SIGTERM has arrived.
    case handingBack
  }

  package init(_ configuration: WorkerConfiguration, log: Log) {
    self.configuration = configuration
    self.log = log
    let metrics = Metrics()
    let permits = Permits(limit: configuration.concurrency)
    let connection = RedisClient(endpoint: configuration.redis, name: "martlet-worker", log: log)
    _ = RedisInstruments(metrics, connection: connection, log: log)
    let clients = WorkerService.clients(configuration, metrics, log)
    let eventMetrics = EventMetrics(metrics)
    self.eventMetrics = eventMetrics
    let events =
      configuration.writesEvents ? EventLog(connection: connection, metrics: eventMetrics, log: log) : nil
    let pipelineMetrics = PipelineMetrics(metrics)
    queue = JobQueue(
      .init(
        endpoint: configuration.redis, queues: configuration.queues, mode: configuration.mode,
        waitingSince: { (try? Job(stored: $0))?.waitingSince(now: Clock.unixMilliseconds) }),
      connection: connection, permits: permits, events: events, metrics: metrics, log: log)
    counters = FleetCounters(connection: connection, queues: configuration.queues)
    let memory = MemoryWatch(
      connection: connection, counters: counters, records: configuration.recordMemory,
      timeToLive: configuration.resultTimeToLive, metrics: metrics, log: log
    ) { [queue] in queue.isElected }
    let registry = Registry(connection: connection, events: events, log: log)
    let worker = WorkerContext(
      configuration: configuration, connection: connection, queue: queue, registry: registry, clients: clients,
      metrics: metrics, log: log)
    companions = configuration.companions.compactMap { $0(worker) }
    recorder = configuration.recorder?(worker)
    let window = SendWindow(
      permits: permits, shares: configuration.appShares, hasOtherApps: configuration.apns != nil)
    context = PipelineContext(
      worker: worker, permits: permits, window: window,
      observer: JobObserver(
        metrics: pipelineMetrics, counters: counters, recorder: recorder,
        refusals: RefusalNotes(registry: registry, memory: memory), log: log), events: events, memory: memory)
    walk = DeviceWalk(registry: registry, app: configuration.bundleID, log: log)
    self.metrics = metrics
    let pipeline = Pipeline(context)
    self.pipeline = pipeline
    reporter = WorkerReporter(context, pipeline.cleanup.removed)
    concurrency = clients.map { _ in ConcurrencyControl(permits: permits, pipeline: pipeline, log: log) }
  }

  private static func clients(_ configuration: WorkerConfiguration, _ metrics: Metrics, _ log: Log) -> AppClients? {
    guard configuration.apns != nil || !configuration.apps.isEmpty else { return nil }
    return AppClients(fallback: configuration.apns, apps: configuration.apps, metrics: metrics, log: log)
  }

  /// The worker and what runs beside it.
  package var services: [any Service] { [self] + companions }

  /// Nil in polling-only mode.
  package var clients: AppClients? { context.clients }

  /// Replaces the shares of the apps, by bundle id. Pushes in flight and waiting jobs are not affected.
  package func configure(appShares: [String: AppShare]) {
    context.window.configure(shares: appShares)
    pipeline.sendWaiting()
  }

  /// Replaces the classes that jobs may name. Jobs in hand keep the terms of theirs.
  package func replace(classes: any JobClasses) { pipeline.replace(classes: classes) }

  /// What SIGHUP calls: each reads files of a part again.
  package var reloads: [(@EventLoop () -> Void)?] { configuration.reloads.map { $0(self, log) } }

  /// The answer of `/readyz`.
  package var readiness: HTTPResponse { reporter.readiness(isStopping: phase != .running) }

  package func start() throws {
    observeQueue()
    observeClient()
    addGauges()
    log.info(clients == nil ? "APNs not configured: polling-only mode" : "APNs push notifications enabled")
    log.info(
      "worker starts",
      [
        "worker": .init(queue.lease.name.value), "redis": .init(configuration.redis.summary),
        "queues": .init(configuration.queues.joined(separator: ",")), "delivery": .init(configuration.mode.rawValue),
        "concurrency": .init(configuration.concurrency),
      ])
    queue.pause(clients.map { !$0.takesPushes } ?? false)
    clients?.start()
    concurrency?.start()
    queue.start()
    counters.start()
    context.memory.start()
  }

  /// Stops claiming, and returns when the jobs in hand have ended or the grace time is over.
  package func stop() async {
    if phase == .running { phase = .finishing }
    log.info("stopping: no more claims", ["outstanding": .init(queue.outstanding)])
    walk.stop()
    context.memory.stop()
    queue.stopClaiming()
    pipeline.stopBroadcasts()
    await finishWithinGrace()
  }

  /// Ends the grace time.
  package func endGrace() {
    phase = .handingBack
    recorder?.abandon()
    endIfFinished()
  }

  private func finishWithinGrace() async {
    let grace = LoopTimer.after(configuration.shutdownGrace) { [weak self] in
      self?.phase = .handingBack
      self?.endIfFinished()
    }
    await withCheckedContinuation { continuation in
      finishing = continuation
      endIfFinished()
    }
    grace.cancel()
  }

  private func endIfFinished() {
    guard finishing != nil else { return }
    guard phase == .handingBack || (queue.outstanding == 0 && !queue.mayStillBringJobs) else { return }
    finishing?.resume()
    finishing = nil
  }

  /// Hands the jobs that are left back. Closes the connections to APNs, so whoever shares them must have ended.
  package func close() async {
    let left = queue.outstanding
    pipeline.abandonWaiting()
    clients?.close()
    // Pushes that were ended by closing are settled at the end of this turn.
    await EventLoop.endOfTurn()
    await queue.handBackAll()
    await walk.close()
    await context.memory.close()
    // Before the worker leaves: the answer to that shows that the counters were written.
    counters.stop()
    await queue.leave()
    // The grace time may be over.
    if phase == .finishing { await recorder?.flush(within: WorkerService.flushTime) }
    log.info("stopped", ["handedBack": .init(left)])
  }

  private func observeQueue() {
    queue.onEvent = { [weak self] event in self?.handle(event) }
    queue.lease.report = { [weak self] in self?.reporter.makeReport() ?? Array("{}".utf8) }
  }

  private func handle(_ event: QueueEvent) {
    switch event {
    case .claimed(let claims): pipeline.take(claims)
    case .oversized(let jobs): pipeline.recordOversized(jobs)
    case .crashed(let jobs): pipeline.recordCrashed(jobs)
    case .leaseConfirmed:
      pipeline.leaseConfirmed()
      walk.start()
      context.memory.ask()
    case .leaseLost: pipeline.leaseLost()
    case .cancelled: pipeline.broadcasts.stopCancelled()
    case .broadcastsPaused(let queueIndex): pipeline.pauseBroadcasts(queueIndex: queueIndex)
    case .progress: endIfFinished()
    }
  }

  /// Jobs stay in Redis while there is no connection to APNs.
  private func observeClient() {
    // A push may wait for a free stream while the process is suspended, and another worker takes its job.
    context.clients?.mayWrite = { [weak queue] in queue?.lease.isFresh ?? true }
    context.clients?.onStateChange = { [weak self] in
      guard let self, let clients = self.clients else { return }
      // A gateway that no push needs does not count: it may be open while the other one is out of reach.
      self.concurrency?.connectionChanged(isConnected: clients.isServing)
      self.queue.pause(!clients.takesPushes)
    }
    context.clients?.onRouteChange = { [weak self] in self?.announce($0) }
  }

  private func announce(_ change: RouteChange) {
    let now = Clock.unixMilliseconds
    switch change {
    case .paused(let notice):
      let fix = PushReason.of(notice.reason).fix
      context.events?.append([.paused(notice, worker: queue.lease.name.value, fix: fix, at: now)])
    case .resumed(let notice):
      context.events?.append([.resumed(notice, worker: queue.lease.name.value, at: now)])
    }
  }

  private func addGauges() {
    let (permits, connection) = (context.permits, context.connection)
    metrics.gauge(
      "martlet_pushes_in_flight",
      help: """
        permits taken by pushes, by claimed jobs and by one waiting claim for each queue; the limit is \
        `martlet_concurrency_limit`
        """,
      worry: "it stays at the limit: APNs is slow, or more workers are needed"
    ) {
      Double(permits.taken)
    }
    metrics.gauge(
      "martlet_concurrency_limit",
      help: """
        permits that may be taken at present: `MARTLET_CONCURRENCY`, fewer [while APNs is \
        slow](operations.md#when-apns-is-slow-or-out-of-reach)
        """,
      worry: "it is below `MARTLET_CONCURRENCY` for minutes"
    ) {
      Double(permits.limit)
    }
    AppInstruments.register(in: metrics, context.window)
    metrics.gauge(
      "martlet_jobs_outstanding",
      help: "jobs that this worker has claimed and that have not ended",
      worry: "it stays high while `martlet_jobs_total` stops growing"
    ) {
      [weak queue] in Double(queue?.outstanding ?? 0)
    }
    metrics.counter(
      "martlet_redis_reconnects_total",
      help: "connections to Redis opened after the first one",
      worry: "it grows steadily"
    ) {
      [weak connection] in Double(connection?.reconnects ?? 0)
    }
  }
}

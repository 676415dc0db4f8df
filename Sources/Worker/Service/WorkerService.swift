import Queue
package import APNs
package import EventLoop
import Jobs
import Redis
import Registry
package import Telemetry

/// A running worker: puts the line together, follows Redis and APNs, and ends without losing a job.
@EventLoop
package final class WorkerService {
  private let configuration: WorkerConfiguration
  private let log: Log
  package let metrics: Metrics
  private let permits: Permits
  private let connection: RedisConnection
  private let queue: JobQueue
  /// Nil: polling-only mode.
  package let client: APNsClient?
  private let line: Pipeline
  private var admin: AdminServer?
  private let reporter: WorkerReporter
  private var isStopping = false
  /// Set by the second SIGTERM, and when the grace time is over.
  private var isHurried = false
  private var finishing: CheckedContinuation<Void, Never>?

  package init(_ configuration: WorkerConfiguration, log: Log) {
    self.configuration = configuration
    self.log = log
    let metrics = Metrics()
    let permits = Permits(limit: configuration.concurrency)
    let connection = RedisConnection(endpoint: configuration.redis, name: "martlet-worker", log: log)
    let client = configuration.apns.map { APNsClient(configuration: $0, metrics: metrics, log: log) }
    let lineMetrics = PipelineMetrics(metrics)
    queue = JobQueue(
      .init(endpoint: configuration.redis, queues: configuration.queues, mode: configuration.mode),
      connection: connection, permits: permits, metrics: metrics, log: log)
    line = Pipeline(
      queue: queue, connection: connection, registry: Registry(connection: connection, log: log), client: client,
      permits: permits, configuration: configuration, metrics: lineMetrics, log: log)
    reporter = WorkerReporter(queue: queue, permits: permits, metrics: lineMetrics, client: client)
    self.metrics = metrics
    self.permits = permits
    self.connection = connection
    self.client = client
  }

  /// Whether jobs can flow: Redis answers, and APNs too unless this is polling-only mode.
  var readiness: Readiness {
    let apns = client.map { $0.isServing ? Readiness.Gateway.connected : .unreachable } ?? .notConfigured
    return Readiness(
      isRedisReady: connection.isReady, apns: apns, isStopping: isStopping,
      pausedRoutes: (client?.pausedRoutes ?? []).map(RouteReport.init))
  }

  package func start() throws {
    observe()
    if let address = configuration.adminAddress {
      let admin = try AdminServer(
        address: address, metrics: metrics, log: log, readiness: { [weak self] in (self?.readiness ?? .gone).response })
      try admin.start()
      self.admin = admin
    }
    log.info(client == nil ? "APNs not configured: polling-only mode" : "APNs push notifications enabled")
    log.info(
      "worker starts",
      [
        "worker": .init(queue.lease.name.value), "redis": .init(configuration.redis.summary),
        "queues": .init(configuration.queues.joined(separator: ",")), "delivery": .init(configuration.mode.rawValue),
        "concurrency": .init(configuration.concurrency),
      ])
    queue.pause(client != nil)
    client?.start()
    queue.start()
  }

  /// SIGTERM: stops claiming, finishes within the grace time, hands the rest back. The second one hurries.
  ///
  /// `others`, told of each call, end meanwhile: the connections to APNs are theirs too and close after them.
  package func stop(
    others: @EventLoop (_ ended: @escaping @EventLoop () -> Void) -> Void = { $0() },
    then exit: @escaping @EventLoop () -> Void
  ) {
    guard !isStopping else {
      isHurried = true
      others {}
      return endIfFinished()
    }
    isStopping = true
    log.info("stopping: no more claims", ["outstanding": .init(queue.outstanding)])
    queue.stopClaiming()
    line.stopBroadcasts()
    let (ended, ending) = AsyncStream<Void>.makeStream()
    others { ending.finish() }
    Task { @EventLoop in
      await finishWithinGrace()
      for await _ in ended {}
      await handBack()
      exit()
    }
  }

  private func finishWithinGrace() async {
    let grace = LoopTimer.after(configuration.shutdownGrace) { [weak self] in
      self?.isHurried = true
      self?.endIfFinished()
    }
    await withCheckedContinuation { continuation in
      finishing = continuation
      endIfFinished()
    }
    grace.cancel()
  }

  private func endIfFinished() {
    guard isHurried || (queue.outstanding == 0 && !queue.mayStillBringJobs) else { return }
    finishing?.resume()
    finishing = nil
  }

  private func handBack() async {
    let left = queue.outstanding
    line.abandonWaiting()
    client?.close()
    // What closing has ended is concluded at the end of this turn.
    await EventLoop.endOfTurn()
    await queue.handBackAll()
    await queue.leave()
    await admin?.stop()
    log.info("stopped", ["handedBack": .init(left)])
  }

  private func handle(_ event: QueueEvent) {
    switch event {
    case .claimed(let claims): line.take(claims)
    case .oversized(let jobs): line.recordOversized(jobs)
    case .leaseConfirmed: line.leaseConfirmed()
    case .leaseLost: line.dropFenced()
    case .progress: endIfFinished()
    }
  }

  private func observe() {
    queue.onEvent = { [weak self] event in self?.handle(event) }
    queue.lease.report = { [weak self] in self?.reporter.json() ?? Array("{}".utf8) }
    client?.onStateChange = { [weak self] in
      guard let self, let client = self.client else { return }
      // Jobs stay in Redis while there is nowhere to send them.
      self.queue.pause(!client.isConnected)
    }
    metrics.gauge("martlet_pushes_in_flight", help: "Permits taken by pushes, claimed jobs and waiting claims.") {
      [permits] in
      permits.taken
    }
    metrics.gauge("martlet_jobs_outstanding", help: "Jobs claimed by this worker that have not ended.") {
      [weak queue] in queue?.outstanding ?? 0
    }
    metrics.counter("martlet_redis_reconnects_total", help: "Connections to Redis opened after the first one.") {
      [weak connection] in connection?.reconnects ?? 0
    }
  }
}

public import EventLoop
public import Events
public import Redis
public import Telemetry

/// What a crash of a worker may cost.
public enum DeliveryMode: String, Sendable, CaseIterable {
  /// A claimed job stays in the in-flight list until it is settled: after a crash it runs again.
  case atLeastOnce = "at-least-once"
  /// A claimed job leaves Redis at once: it is never sent twice, and lost in a crash.
  case atMostOnce = "at-most-once"
}

/// Returns since when a job waits, read from the producer's bytes. Unix milliseconds, or nil if the job does not say.
public typealias WaitingSince = @Sendable (_ job: [UInt8]) -> Int64?

/// What a worker learns from its ``JobQueue``.
public enum QueueEvent {
  /// Jobs of one queue were claimed; each holds one permit.
  case claimed([Claim])
  /// Jobs were moved to the dead letters because of their size. The worker writes their records.
  case oversized([OversizedJob])
  /// Jobs were moved to the dead letters because workers died with them. The worker writes their records.
  case crashed([CrashedJob])
  /// Redis has confirmed a heartbeat: pushes that waited for a fresh lease may be sent.
  case leaseConfirmed
  /// The lease is lost. At least once, so is every claim: each is fenced.
  case leaseLost
  /// Jobs in flight were cancelled.
  case cancelled([Claim])
  /// An operator has paused broadcasts of a queue: ``JobQueue/screen(_:queueIndex:_:)`` tells which.
  case broadcastsPaused(queueIndex: Int)
  /// Claims have ended, or an answer to a claim has arrived: ``JobQueue/outstanding`` and
  /// ``JobQueue/mayStillBringJobs`` may have changed.
  case progress
}

/// The queues of one worker: it claims jobs, settles them, and recovers what a crash, a freeze or an outage has left
/// behind.
@EventLoop
public final class JobQueue {
  public struct Configuration: Sendable {
    public var endpoint: RedisEndpoint
    /// In strict order: a queue is asked only when those before it are empty.
    public var queues: [String]
    public var mode: DeliveryMode
    /// Returns since when a job waits, in unix milliseconds, by the producer's bytes; nil if that is unknown.
    public var waitingSince: WaitingSince

    public init(
      endpoint: RedisEndpoint, queues: [String], mode: DeliveryMode, waitingSince: @escaping WaitingSince = { _ in nil }
    ) {
      self.endpoint = endpoint
      self.queues = queues
      self.mode = mode
      self.waitingSince = waitingSince
    }
  }

  private enum Phase {
    /// The lease was not confirmed yet.
    case joining
    case claiming
    case stopping
  }

  let context: QueueContext
  private let settler: Settler
  private let fetcher: Fetcher
  private let reconciler: Reconciler
  private let promoter: Promoter
  private let reaper: Reaper
  private let depths: QueueDepths
  private let steering: Steering
  private var phase = Phase.joining
  /// The worker could not send.
  private var isPaused = false

  /// `connection` carries everything but the blocking claims. The queue starts it and observes its state.
  public init(
    _ configuration: Configuration, connection: RedisClient, permits: Permits, events: EventLog? = nil,
    metrics: Metrics, log: Log
  ) {
    context = QueueContext(
      configuration, connection: connection, permits: permits, events: events, metrics: metrics, log: log)
    settler = Settler(context)
    fetcher = Fetcher(context, endpoint: configuration.endpoint)
    reconciler = Reconciler(context, fetcher: fetcher)
    promoter = Promoter(context)
    reaper = Reaper(context, promoter: promoter)
    steering = Steering(context)
    depths = QueueDepths(
      queues: context.queues, connection: connection, waitingSince: configuration.waitingSince, metrics: metrics)
    connection.require(configuration.queues)
    connection.onStateChange = { [weak self] isReady in self?.connectionChanged(isReady) }
    context.lease.onEvent = { [weak self] event in self?.handle(event) }
    context.control.onChange = { [weak self] index, old in self?.controlChanged(index, old) }
    steering.onDrainChange = { [weak self] in self?.drainChanged() }
  }

  public var queues: [QueueKeys] { context.queues }
  public var lease: Lease { context.lease }
  public var mode: DeliveryMode { context.mode }
  /// What operators have asked of the queues.
  public var control: ControlWatch { context.control }

  /// Receives what happens to the jobs and to the lease.
  public var onEvent: (@EventLoop (QueueEvent) -> Void)? {
    get { context.onEvent }
    set { context.onEvent = newValue }
  }

  /// Whether this worker promotes and reaps the first queue: it does what one worker of the fleet has to do.
  public var isElected: Bool { promoter.isElected(queueIndex: 0) }

  /// The number of jobs that were claimed and are not settled.
  public var outstanding: Int { context.ledger.count }

  /// Whether an answer to a claim is still on its way.
  public var mayStillBringJobs: Bool { fetcher.isWaiting }

  // MARK: - Work

  /// Joins the fleet. Jobs are claimed as soon as Redis has confirmed the lease and ``pause(_:)`` is off.
  public func start() {
    context.connection.preload(QueueScripts.all)
    if context.connection.isCluster { context.connection.preload(QueueScripts.separate) }
    context.connection.start()
    promoter.start()
    reaper.start()
    lease.start()
    depths.start()
  }

  /// Claims nothing while `paused`, for a worker that could not send.
  public func pause(_ paused: Bool) {
    isPaused = paused
    fetcher.pause(isPaused || isDraining)
  }

  /// Whether an operator has asked that this worker claims nothing more.
  public var isDraining: Bool { steering.isDraining }

  /// Ends a claim, in one atomic step with its removal from the in-flight list. Settlements of one turn of the loop
  /// leave together.
  public func settle(_ claim: Claim, _ settlement: consuming Settlement) { settler.settle(claim, settlement) }

  /// Writes the record of a job that no worker holds. `nonce` is the job's.
  public func write(_ record: Settlement.Record, nonce: String? = nil, queue: String) {
    SeparateRecords(connection: context.connection).write(Settlement(.acknowledge, record: record), nonce: nonce) {
      [context] result in
      if case .success(false) = result { context.warnings.noteKeptRecord(id: record.jobID, queue: queue) }
    }
  }

  /// Fences one claim: the fleet has given its job to another worker.
  func fence(_ claim: Claim) {
    claim.isFenced = true
    context.ledger.remove(claim)
    context.emit(.progress)
  }

  // MARK: - End

  /// Stops claiming. Jobs that were claimed continue.
  public func stopClaiming() {
    phase = .stopping
    fetcher.stop()
    promoter.stop()
    reaper.stop()
  }

  /// Hands every claim that is not settled back to its queue, in their order, and everything else in the in-flight
  /// lists.
  public func handBackAll() async {
    for index in queues.indices {
      for claim in context.ledger.outstanding(queueIndex: index).reversed() {
        settler.settle(claim, Settlement(.handBack))
      }
      settler.flush()
    }
    guard mode == .atLeastOnce else { return }
    for keys in queues { await handBackStrays(keys) }
  }

  private func handBackStrays(_ keys: QueueKeys) async {
    let worker = lease.name.value
    while true {
      let answer = try? await context.connection.send(
        QueueScripts.handBackAll(
          inflight: keys.inflight(worker), landing: keys.landing(worker), queue: keys.queue, seal: keys.seal,
          most: QueueLimits.moveBatch))
      guard let count = answer?.integer, count > 0 else { return }
    }
  }

  /// Leaves the fleet, and closes the connections.
  public func leave() async {
    let mayStillGetJobs = mode == .atLeastOnce && fetcher.isWaiting
    fetcher.close()
    lease.leave(mayStillGetJobs: mayStillGetJobs)
    if isDraining { steering.leave() }
    // Its answer arrives after everything before it was carried out.
    for keys in queues { await drain(keys) }
    depths.stop()
    context.connection.close()
  }

  /// Waits until the server of a queue has carried out everything that was sent to it.
  private func drain(_ keys: QueueKeys) async {
    await withCheckedContinuation { continuation in
      context.connection.send(RedisCommand("PING"), toServerOf: keys.queue, timeout: .seconds(2)) { _ in
        continuation.resume()
      }
    }
  }

  // MARK: - Control

  private func controlChanged(_ queueIndex: Int, _ old: ControlState?) {
    let isPaused = context.control.isPaused(queueIndex: queueIndex)
    if isPaused != (old?.isPaused ?? false) {
      context.log.info(
        isPaused ? "an operator has paused a queue" : "a queue is resumed", ["queue": .init(queues[queueIndex].queue)])
      isPaused ? fetcher.endWaits(on: queueIndex) : fetcher.resume()
    }
    steering.controlChanged(queueIndex, old)
  }

  private func drainChanged() {
    context.log.info(isDraining ? "an operator drains this worker: it claims nothing more" : "claiming again")
    fetcher.pause(isPaused || isDraining)
    lease.beat()
  }

  // MARK: - Lease

  private func connectionChanged(_ isReady: Bool) {
    guard isReady else { return lease.loseConnection() }
    reaper.connectionReturned()
    lease.beat()
    depths.refresh()
  }

  private func handle(_ event: LeaseEvent) {
    switch event {
    case .confirmed: leaseConfirmed()
    case .fenced: leaseLost()
    case .forgotten(let queueIndex): restore(queueIndex)
    case .inflight(let queueIndex, let length): reconciler.take(inflightLength: length, queueIndex: queueIndex)
    }
  }

  private func leaseConfirmed() {
    settler.flush()
    switch phase {
    case .joining:
      phase = .claiming
      fetcher.start()
    case .claiming: fetcher.resume()
    case .stopping: break
    }
    context.emit(.leaseConfirmed)
  }

  private func leaseLost() {
    // At most once, no other worker can have the jobs.
    if mode == .atLeastOnce { context.metrics.fenced.increment(by: context.ledger.fenceAll()) }
    if isDraining { steering.keepDraining() }
    context.emit(.leaseLost)
    context.emit(.progress)
  }

  /// Writes the claimed jobs to the in-flight list again, which Redis has lost, before they are settled.
  private func restore(_ queueIndex: Int) {
    let claims = context.ledger.outstanding(queueIndex: queueIndex)
    guard mode == .atLeastOnce, !claims.isEmpty else { return }
    context.log.warn(
      "Redis lost its data; the jobs that this worker holds are written again", ["jobs": .init(claims.count)])
    for start in stride(from: 0, to: claims.count, by: QueueLimits.restoreBatch) {
      var push = RedisCommand("LPUSH", queues[queueIndex].inflight(lease.name.value))
      for claim in claims[start...].prefix(QueueLimits.restoreBatch) { push.append(claim.element) }
      context.connection.send(push) { _ in }
    }
  }
}

public import EventLoop
public import Events
public import Jobs
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
    let settlement = Settlement(.acknowledge, record: record)
    SeparateRecords(connection: context.connection).write(settlement, nonce: nonce, queue: queue) {
      [context] result in
      if case .success(false) = result { context.warnings.warnOfKeptRecord(id: record.jobID, queue: queue) }
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
    // Operator: Check Redis' persistence.
    context.log.warn(
      "Redis lost its data; the jobs that this worker holds are written again", ["jobs": .init(claims.count)])
    for start in stride(from: 0, to: claims.count, by: QueueLimits.restoreBatch) {
      var push = RedisCommand("LPUSH", queues[queueIndex].inflight(lease.name.value))
      for claim in claims[start...].prefix(QueueLimits.restoreBatch) { push.append(claim.element) }
      context.connection.send(push) { _ in }
    }
  }
}

/// What operators ask of jobs, as their worker sees it.
extension JobQueue {
  public enum Screening: Int64, Sendable {
    case go = 0
    case cancelled = 1
    /// A broadcast that an operator has paused.
    case paused = 2
  }

  /// Looks up which of the jobs are cancelled, and which broadcasts are paused. Removes the scheduled jobs that are
  /// replaced: a job that `replaces` replaces the one that is scheduled under its id.
  public func screen(
    _ jobs: [(id: String, replaces: Bool)], queueIndex: Int,
    _ completion: @escaping @EventLoop (Result<[Screening], RedisError>) -> Void
  ) {
    let keys = queues[queueIndex]
    let locators = jobs.map { $0.replaces ? keys.due($0.id) : keys.cancelled }
    let call = QueueScripts.screen(
      cancelled: keys.cancelled, pauses: keys.pauses, scheduled: keys.scheduled, locators: RedisList(locators),
      ids: RedisList(jobs.map(\.id)))
    context.connection.send(call) { result in
      completion(result.map { value in (value.array ?? []).map { $0.integer.flatMap(Screening.init) ?? .go } })
    }
  }

  /// Makes a scheduled job due now, if it is scheduled. A queue of others, or one that Redis does not answer for, stays as it is:
  /// whoever schedules a job to be hastened does not rely on it alone.
  public func hasten(_ jobID: String, queue: String) {
    guard let keys = queues.first(where: { $0.queue == queue }) else { return }
    context.connection.send(QueueScripts.hasten(due: keys.due(jobID), scheduled: keys.scheduled)) { _ in }
  }

  /// Publishes what a broadcast does, for operators.
  public func writeState(_ state: BroadcastEntry.State, ofBroadcast id: String, app: String, claim: Claim) {
    let keys = queues[claim.queueIndex]
    let entry = BroadcastEntry(
      id: id, queue: keys.queue, app: app, state: state, startedAt: claim.claimedAt, changedAt: Clock.unixMilliseconds,
      worker: lease.name.value, nonce: claim.envelope.nonce ?? "")
    context.connection.send(entry.writing(keys)) { _ in }
  }
}

/// The progress of broadcasts: how far each has come, for the worker that continues it after a crash.
extension JobQueue {
  /// How long the progress of a broadcast is kept if no worker continues it.
  private static let progressTimeToLive = Duration.seconds(7 * 24 * 3600)

  /// Reads the progress of a broadcast. Nil if no page was committed yet.
  public func loadProgress(
    of claim: Claim, _ completion: @escaping @EventLoop (Result<AttemptState?, RedisError>) -> Void
  ) {
    let keys = keys(of: claim)
    context.connection.send(RedisCommand("MGET", keys.progress, keys.list)) { result in
      completion(
        result.map { value in
          guard let values = value.array, let bytes = values.first?.bytes,
            let line = bytes.firstIndex(of: UInt8(ascii: "\n"))
          else { return nil }
          var state = AttemptState(json: Array(bytes[(line + 1)...]))
          // An earlier version wrote the list with the rest.
          if state.result?.results.isEmpty == true, let list = values.last?.bytes.flatMap(JobResult.init(parsing:)) {
            state.result?.results = list.results
          }
          return state
        })
    }
  }

  /// Writes the progress of a broadcast, unless a cursor that is further is stored. The claim of a fenced worker is
  /// fenced.
  ///
  /// The devices that its result lists are written only if `changesList`, as most pages of a broadcast do not change them.
  /// `onFailure` is called if Redis has not written it.
  public func commitProgress(
    _ progress: AttemptState, changesList: Bool, of claim: Claim, onFailure: @escaping @EventLoop () -> Void
  ) {
    let (keys, cursor) = (keys(of: claim), progress.cursor ?? "")
    var rest = progress
    rest.result?.results = []
    let call = QueueScripts.commitProgress(
      progress: keys.progress, list: keys.list, tombstone: keys.tombstone, cursor: cursor,
      value: Array("\(cursor)\n".utf8) + rest.json(), listed: changesList ? progress.result?.json() ?? [] : [],
      ttl: JobQueue.progressTimeToLive.milliseconds)
    context.connection.send(call) { [self] result in
      // A commit that fails costs one page that is sent again after a crash: the next commit contains it.
      switch result {
      case .success(.integer(-1)): fence(claim)
      case .success: break
      case .failure: onFailure()
      }
    }
  }

  /// Removes the progress of a broadcast that has ended, unless another worker was given the job.
  public func clearProgress(of claim: Claim) {
    let keys = keys(of: claim)
    let call = QueueScripts.clearProgress(progress: keys.progress, list: keys.list, tombstone: keys.tombstone)
    context.connection.send(call) { _ in }
  }

  private func keys(of claim: Claim) -> (progress: String, list: String, tombstone: String) {
    let (keys, nonce) = (queues[claim.queueIndex], claim.envelope.nonce ?? "")
    return (keys.progress(nonce), keys.progressList(nonce), keys.tombstone(lease.name.value))
  }
}

extension JobQueue {
  /// Readers that one script writes for, at most.
  private static let readerBatch = 100

  /// Writes a notification record for each of its readers without one of this job, so that it may be repeated.
  ///
  /// For the readers of a broadcast, which come page by page. Those of any other job belong in its ``Settlement``.
  public func keep(
    _ notification: Settlement.Notification, _ completion: @escaping @EventLoop (Result<Void, RedisError>) -> Void
  ) {
    guard !context.connection.isCluster else { return keepSeparately(notification, completion) }
    let starts = Array(stride(from: 0, to: notification.readers.count, by: JobQueue.readerBatch))
    EventLoop.gather(starts) { start, reply in
      let readers = notification.readers[start...].prefix(JobQueue.readerBatch)
      let call = QueueScripts.keepNotification(
        readers: RedisList(readers.flatMap(\.keys)), json: notification.json, names: RedisList(readers.map(\.name)))
      context.connection.send(call, reply)
    } completion: {
      completion($0.firstFailure())
    }
  }

  private func keepSeparately(
    _ notification: Settlement.Notification, _ completion: @escaping @EventLoop (Result<Void, RedisError>) -> Void
  ) {
    let settlement = Settlement(.acknowledge, notifications: [notification])
    SeparateRecords(connection: context.connection).write(settlement, nonce: nil, queue: "") {
      completion($0.map { _ in })
    }
  }
}

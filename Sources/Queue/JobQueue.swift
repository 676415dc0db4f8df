public import EventLoop
public import Redis
public import Telemetry

/// The queues as a worker sees them: claims come in, settlements go out, and what a crash, a freeze or an outage leaves
/// behind is put right.
@EventLoop
public final class JobQueue {
  public struct Configuration: Sendable {
    public var endpoint: RedisEndpoint
    /// In strict order, first first.
    public var queues: [String]
    public var mode: DeliveryMode

    public init(endpoint: RedisEndpoint, queues: [String], mode: DeliveryMode) {
      self.endpoint = endpoint
      self.queues = queues
      self.mode = mode
    }
  }

  public let queues: [QueueKeys]
  public let lease: Lease
  public let mode: DeliveryMode

  /// Receives what happens to the jobs and to the lease.
  public var onEvent: (@EventLoop (QueueEvent) -> Void)?

  let connection: RedisConnection
  private let ledger: ClaimLedger
  private let settler: Settler
  private let fetcher: Fetcher
  private let reconciler: Reconciler
  private let keeper: Keeper
  private let burials: BurialReport
  private let keptRecords: KeptRecords
  private let log: Log
  private var isStarted = false
  private var isStopping = false

  /// `connection` carries everything but the blocking claims; the queue starts it and follows its state.
  public init(
    _ configuration: Configuration, connection: RedisConnection, permits: Permits, metrics: Metrics, log: Log
  ) {
    let queues = configuration.queues.map(QueueKeys.init(queue:))
    let counters = QueueMetrics(metrics)
    let burials = BurialReport(metrics: counters, log: log)
    let keptRecords = KeptRecords(metrics: counters, log: log)
    let ledger = ClaimLedger(queueCount: queues.count)
    let lease = Lease(connection: connection, queues: queues, log: log)
    self.queues = queues
    self.connection = connection
    self.ledger = ledger
    self.lease = lease
    self.log = log
    self.burials = burials
    self.keptRecords = keptRecords
    mode = configuration.mode
    settler = Settler(
      connection: connection, queues: queues, mode: configuration.mode, lease: lease, ledger: ledger, metrics: counters,
      burials: burials, keptRecords: keptRecords, log: log)
    fetcher = Fetcher(
      connection: connection, endpoint: configuration.endpoint, queues: queues, mode: configuration.mode,
      permits: permits, lease: lease, ledger: ledger, metrics: counters, burials: burials, log: log)
    reconciler = Reconciler(
      connection: connection, queues: queues, lease: lease, ledger: ledger, permits: permits, metrics: counters,
      burials: burials, log: log)
    keeper = Keeper(
      connection: connection, queues: queues, lease: lease, metrics: counters, burials: burials, log: log)
    connect(counters)
  }

  /// Jobs claimed and not settled.
  public var outstanding: Int { ledger.count }

  /// Joins the fleet; claims flow as soon as Redis answers and ``pause(_:)`` is off.
  public func start() {
    connection.preload(QueueScripts.all)
    connection.start()
    keeper.start()
    lease.start()
  }

  /// While paused nothing is claimed; for a worker that could not send.
  public func pause(_ paused: Bool) { fetcher.pause(paused) }

  /// Ends a claim. One atomic step with its removal from the in-flight list; leaves with those of the same turn.
  public func settle(_ claim: Claim, _ settlement: Settlement) { settler.settle(claim, settlement) }

  /// Writes the record of a job that is in nobody's hands.
  public func write(_ record: Settlement.Record, queue: String) {
    connection.call(QueueScripts.record, keys: [QueueKeys.result(record.jobID)]) { command in
      command.append(record.json)
      command.append(record.timeToLive.milliseconds)
    } _: { [self] result in
      if case .success(.integer(0)) = result { keptRecords.note(id: record.jobID, queue: queue) }
    }
  }

  /// The fleet has given the job to somebody else.
  func takenAway(_ claim: Claim) {
    claim.isFenced = true
    ledger.remove(claim)
    onEvent?(.progress)
  }

  /// Stops claiming; what is under way goes on.
  public func stopClaiming() {
    isStopping = true
    fetcher.stop()
    keeper.stop()
  }

  /// Whether an answer to a claim is still on its way.
  public var mayStillBringJobs: Bool { fetcher.isWaiting }

  /// Hands back every claim that is not settled, oldest in front, and whatever else stands in the in-flight lists.
  public func handBackAll() async {
    for index in queues.indices {
      for claim in ledger.outstanding(queueIndex: index).reversed() { settler.settle(claim, Settlement(.handBack)) }
      settler.flush()
    }
    guard mode == .atLeastOnce else { return }
    for keys in queues { await handBackStrays(keys) }
  }

  /// Leaves the fleet: lease, heartbeats, connections.
  public func leave() async {
    let mayStillGetJobs = mode == .atLeastOnce && fetcher.isWaiting
    fetcher.close()
    lease.leave(mayStillGetJobs: mayStillGetJobs)
    // Answered after everything before it has been carried out.
    _ = try? await connection.send(RedisCommand("PING"), timeout: .seconds(2))
    connection.close()
  }

  private func handBackStrays(_ keys: QueueKeys) async {
    let worker = lease.name.value
    while true {
      let answer = try? await connection.call(
        QueueScripts.handBack, keys: [keys.inflight(worker), keys.landing(worker), keys.queue, keys.seal]
      ) { $0.append(QueueLimits.moveBatch) }
      guard let count = answer?.integer, count > 0 else { return }
    }
  }

  private func connect(_ counters: QueueMetrics) {
    connection.onStateChange = { [weak self] isReady in self?.connectionChanged(isReady) }
    lease.onConfirmed = { [weak self] in
      guard let self else { return }
      self.settler.flush()
      if !self.isStopping { self.isStarted ? self.fetcher.resume() : self.beginFetching() }
      self.onEvent?(.leaseConfirmed)
    }
    lease.onInflightLength = { [weak self] index, length in
      self?.reconciler.observe(queueIndex: index, inflightLength: length)
    }
    lease.onForgotten = { [weak self] index in self?.restore(index) }
    lease.onFenced = { [weak self] in
      guard let self else { return }
      // At most once, nobody else can have them.
      if self.mode == .atLeastOnce { counters.fenced.increment(by: self.ledger.fence()) }
      self.onEvent?(.leaseLost)
      self.onEvent?(.progress)
    }
    settler.onSettled = { [weak self] in self?.onEvent?(.progress) }
    fetcher.onAnswer = { [weak self] in self?.onEvent?(.progress) }
    fetcher.onClaims = { [weak self] in self?.onEvent?(.claimed($0)) }
    reconciler.onClaims = { [weak self] in self?.onEvent?(.claimed($0)) }
    burials.onOversized = { [weak self] in self?.onEvent?(.oversized($0)) }
    reconciler.onDropBlocked = { [weak self] index in self?.fetcher.dropBlocked(queueIndex: index) }
  }

  private func beginFetching() {
    isStarted = true
    fetcher.start()
  }

  private func connectionChanged(_ isReady: Bool) {
    if !isReady { lease.connectionLost() }
    if isReady {
      keeper.connectionReturned()
      lease.beat()
    }
  }

  /// Redis has lost the in-flight lists: what is in hand is written there again, before it is settled.
  private func restore(_ index: Int) {
    let claims = ledger.outstanding(queueIndex: index)
    guard mode == .atLeastOnce, !claims.isEmpty else { return }
    var push = RedisCommand("LPUSH", queues[index].inflight(lease.name.value))
    for claim in claims { push.append(claim.element) }
    log.warn("Redis came back without its data; jobs in hand are written again", ["jobs": .init(claims.count)])
    connection.send(push) { _ in }
  }
}

import EventLoop
import Redis
import Telemetry

/// Brings jobs in: a permit is taken before a job is claimed, by script while there are jobs, by blocking when there are none.
@EventLoop
final class Fetcher {
  private let connection: RedisConnection
  private let queues: [QueueKeys]
  private let mode: DeliveryMode
  private let permits: Permits
  private let lease: Lease
  private let ledger: ClaimLedger
  private let metrics: QueueMetrics
  private let faults: FetchFaults
  private let burials: BurialReport
  private let blocked: [BlockedClaim]
  private var plan: FetchPlan
  private var gatherTimer: LoopTimer?
  private var isTurnScheduled = false
  /// Claims by script whose answers are on their way.
  private var asking = 0

  /// An answer to a claim has arrived and was dealt with.
  var onAnswer: (@EventLoop () -> Void)?
  /// Takes the claims, each with one permit.
  var onClaims: (@EventLoop ([Claim]) -> Void)?

  init(
    connection: RedisConnection, endpoint: RedisEndpoint, queues: [QueueKeys], mode: DeliveryMode, permits: Permits,
    lease: Lease, ledger: ClaimLedger, metrics: QueueMetrics, burials: BurialReport, log: Log
  ) {
    self.connection = connection
    self.queues = queues
    self.mode = mode
    self.permits = permits
    self.lease = lease
    self.ledger = ledger
    self.metrics = metrics
    self.burials = burials
    faults = FetchFaults(queues: queues, log: log)
    plan = FetchPlan(queueCount: queues.count, batch: QueueLimits.claimBatch, permits: permits.limit)
    let connections = mode == .atMostOnce ? 1 : queues.count
    blocked = (0..<connections).map { _ in BlockedClaim(endpoint: endpoint) }
    faults.onRetry = { [weak self] in self?.takeTurn(hasGathered: true) }
    permits.onRelease { [weak self] in self?.scheduleTurn() }
    for claim in blocked {
      claim.onReady = { [weak self] in self?.resume() }
    }
  }

  func start() {
    for claim in blocked { claim.start() }
    plan.start()
    takeTurn()
  }

  /// Claims nothing any more. What is on its way in still arrives.
  func stop() {
    plan.stop()
    for claim in blocked { claim.unblock(through: connection) }
  }

  func close() {
    for claim in blocked { claim.close() }
  }

  /// Whether an answer may still bring a job.
  var isWaiting: Bool { asking > 0 || blocked.contains { $0.isBlocked } }

  func pause(_ paused: Bool) {
    guard plan.isPaused != paused else { return }
    plan.pause(paused)
    if paused {
      for claim in blocked { claim.unblock(through: connection) }
    } else {
      resume()
    }
  }

  /// Looks again; for a connection or a lease that has come back.
  func resume() {
    plan.expectJobs()
    scheduleTurn()
  }

  /// Makes sure that no late answer brings a job of this queue.
  func dropBlocked(queueIndex: Int) {
    blocked[mode == .atMostOnce ? 0 : queueIndex].disconnect()
  }

  private func scheduleTurn() {
    guard !isTurnScheduled else { return }
    isTurnScheduled = true
    EventLoop.atEndOfTurn { [weak self] in
      self?.isTurnScheduled = false
      self?.takeTurn()
    }
  }

  private func takeTurn(hasGathered: Bool = false) {
    guard !faults.isPausing, lease.mayClaim, connection.isReady else { return }
    perform(plan.next(permits: permits.available, hasGathered: hasGathered))
  }

  private func perform(_ action: FetchPlan.Action) {
    switch action {
    case .claim(let queueIndex, let count):
      if queueIndex == 0 { _ = permits.take(upTo: count) }
      claim(queueIndex: queueIndex, upTo: count)
    case .block: block()
    case .gather:
      guard gatherTimer == nil else { return }
      gatherTimer = .after(QueueLimits.gatherDelay) { [weak self] in
        self?.gatherTimer = nil
        self?.takeTurn(hasGathered: true)
      }
    // A queue may be without its blocked connection for want of a permit.
    case .wait: if plan.isIdle { block() }
    }
  }

  private func claim(queueIndex: Int, upTo count: Int) {
    let keys = queues[queueIndex]
    let worker = lease.name.value
    let noncePrefix = lease.nextNoncePrefix()
    asking += 1
    let scriptKeys = [keys.queue, keys.inflight(worker), keys.heartbeat(worker), keys.seal, keys.dead]
    connection.call(QueueScripts.claim, keys: scriptKeys) { command in
      command.append(count)
      command.append(noncePrefix)
      if mode == .atMostOnce { command.append("keep") }
    } _: { [weak self] result in
      guard let self else { return }
      self.asking -= 1
      defer { self.onAnswer?() }
      switch result {
      case .success(let value):
        if let answer = ClaimAnswer(value, queue: keys.queue) {
          self.faults.claimed(from: queueIndex)
          self.accept(answer, queueIndex: queueIndex, asked: count, worker: worker)
        } else {
          self.claimFailed(left: count)
          self.leaseLapsed()
        }
      case .failure(let error) where error.isWrongType:
        self.faults.passOver(queueIndex)
        self.accept(ClaimAnswer(elements: []), queueIndex: queueIndex, asked: count, worker: worker)
      case .failure(let error):
        self.claimFailed(left: count)
        self.faults.claimFailed(error)
      }
    }
  }

  /// The heartbeat says whether the jobs are still this worker's.
  private func leaseLapsed() {
    lease.beat()
    faults.pause()
  }

  private func claimFailed(left: Int) {
    plan.claimFailed()
    permits.release(left)
  }

  private func accept(_ answer: ClaimAnswer, queueIndex: Int, asked: Int, worker: String) {
    burials.note(answer, queues[queueIndex])
    let count = answer.elements.count
    let mayHaveMore = count >= asked || answer.hasMore
    let action = plan.claimed(count, hasMore: answer.hasMore)
    if case .claim = action {} else { permits.release(asked - count) }
    if mayHaveMore { unblockLater(than: queueIndex) }
    if count > 0 { deliver(answer.elements, queueIndex: queueIndex, worker: worker) }
    perform(action)
    if mayHaveMore { scheduleTurn() }
  }

  private func deliver(_ elements: [[UInt8]], queueIndex: Int, worker: String) {
    let now = Clock.unixMilliseconds
    let monotonic = Clock.monotonicNanoseconds
    var claims: [Claim] = []
    claims.reserveCapacity(elements.count)
    for element in elements {
      claims.append(
        Claim(queueIndex: queueIndex, element: element, nonce: lease.nextNonce(), now: now, monotonic: monotonic))
    }
    // Claimed in the name of a life that is over: the reaper takes them back.
    guard worker == lease.name.value || mode == .atMostOnce else {
      lease.abandon(worker, queueIndex: queueIndex)
      permits.release(claims.count)
      return
    }
    for claim in claims { ledger.add(claim) }
    metrics.claimed.increment(by: claims.count)
    onClaims?(claims)
  }

  private func unblockLater(than queueIndex: Int) {
    guard mode == .atLeastOnce else { return }
    for (index, claim) in blocked.enumerated() where plan.mustUnblock(index, afterFullClaimOf: queueIndex) {
      claim.unblock(through: connection)
    }
  }

  private func block() {
    for index in blocked.indices where blocked[index].isReady && !blocked[index].isBlocked {
      guard plan.isIdle, lease.mayClaim, !faults.isPausing, permits.take(upTo: 1) == 1 else { return }
      let worker = lease.name.value
      let completion: @EventLoop (BlockedClaim.Answer) -> Void = { [weak self] answer in
        self?.unblocked(answer, index: index, worker: worker)
      }
      if mode == .atMostOnce {
        blocked[index].pop(from: queues, envelope: lease.envelope(ofPopped:queueIndex:), completion)
      } else {
        blocked[index].move(
          from: queues[index], queueIndex: index, worker: worker, noncePrefix: lease.nextNoncePrefix(), completion)
      }
    }
  }

  private func unblocked(_ answer: BlockedClaim.Answer, index: Int, worker: String) {
    defer { onAnswer?() }
    switch answer {
    case .claimed(let queueIndex, let answer):
      if answer.isStuck { faults.pause() } else { faults.blockingWorked() }
      burials.note(answer, queues[queueIndex])
      if answer.elements.isEmpty { permits.release() }
      plan.expectJobs()
      if !answer.elements.isEmpty { deliver(answer.elements, queueIndex: queueIndex, worker: worker) }
      scheduleTurn()
    case .popped(let queueIndex, let element):
      faults.blockingWorked()
      plan.expectJobs()
      deliver([element], queueIndex: queueIndex, worker: worker)
      scheduleTurn()
    case .nothing:
      faults.blockingWorked()
      permits.release()
      if blocked[index].hasEndedEarly { faults.pause() }
      // There may be fewer permits than queues: each wait that ends in vain looks at all of them.
      resume()
    case .lapsed:
      permits.release()
      plan.expectJobs()
      leaseLapsed()
    case .fault(let error):
      permits.release()
      plan.expectJobs()
      guard error.isWrongType else { return faults.blockingFailed(error) }
      if mode == .atLeastOnce { faults.passOver(index) }
      faults.pause()
    }
  }
}

import EventLoop
import Redis
import Telemetry

/// Claims jobs: by script while there are jobs, else by waiting in Redis. Takes a permit before each job.
@EventLoop
final class Fetcher {
  private let context: QueueContext
  private let faults: FetchFaults
  private let waits: [any BlockingClaim]
  private var plan: FetchPlan
  private var gatherTimer: LoopTimer?
  private var isTurnScheduled = false
  /// Claims by script that are not answered yet.
  private var openClaims = 0

  init(_ context: QueueContext, endpoint: RedisEndpoint) {
    self.context = context
    faults = FetchFaults(queues: context.queues, log: context.log)
    plan = FetchPlan(
      queueCount: context.queues.count, batch: QueueLimits.claimBatch, permits: context.permits.limit)
    waits = context.mode.blockingClaims(context, endpoint: endpoint)
    faults.onRetry = { [weak self] in self?.takeTurn(hasGathered: true) }
    // Weak references would slow down every retain of the fetcher, which lives as long as the permits.
    context.permits.onRelease { [unowned self] in scheduleTurn() }
    for wait in waits {
      wait.blocked.onReady = { [weak self, weak wait] in
        wait?.connectionReturned()
        self?.resume()
      }
    }
  }

  /// Whether an answer may still bring a job.
  var isWaiting: Bool { openClaims > 0 || waits.contains { $0.blocked.isBlocked } }

  func start() {
    for wait in waits { wait.blocked.start() }
    plan.start()
    takeTurn()
  }

  /// Claims nothing more. The answers to claims that were sent still arrive.
  func stop() {
    plan.stop()
    endWaits()
  }

  func close() {
    for wait in waits { wait.blocked.close() }
  }

  func pause(_ paused: Bool) {
    guard plan.isPaused != paused else { return }
    plan.pause(paused)
    paused ? endWaits() : resume()
  }

  /// Looks for jobs again, when a connection or the lease has come back.
  func resume() {
    plan.expectJobs()
    scheduleTurn()
  }

  /// Makes sure that no late answer brings a job of this queue.
  func dropBlocked(queueIndex: Int) {
    for wait in waits where wait.queueIndex == queueIndex || wait.queueIndex == nil { wait.blocked.disconnect() }
  }

  /// Ends the waits on a queue, which has been paused.
  func endWaits(on queueIndex: Int) {
    for wait in waits where wait.queueIndex == queueIndex || wait.queueIndex == nil {
      wait.blocked.unblock(through: context.connection)
    }
  }

  private func endWaits() {
    for wait in waits { wait.blocked.unblock(through: context.connection) }
  }

  // MARK: - KeyedMutex

  private func scheduleTurn() {
    guard !isTurnScheduled else { return }
    isTurnScheduled = true
    EventLoop.atEndOfTurn { [weak self] in
      self?.isTurnScheduled = false
      self?.takeTurn()
    }
  }

  private func takeTurn(hasGathered: Bool = false) {
    guard !faults.isPausing, context.lease.mayClaim, context.connection.isReady else { return }
    // In a cluster records may wait for a server while the queue's own works.
    guard context.ledger.count < context.permits.maximum + QueueLimits.maximumUnsettled else { return faults.pause() }
    perform(plan.beginTurn(permits: context.permits.available, hasGathered: hasGathered))
  }

  private func perform(_ action: FetchPlan.Action) {
    switch action {
    case .claim(let queueIndex, let count):
      // The claims of the later queues use what is left of the first one's permits.
      if queueIndex == 0 { _ = context.permits.take(upTo: count) }
      claim(queueIndex: queueIndex, upTo: count)
    case .block: block()
    case .gather:
      guard gatherTimer == nil else { return }
      gatherTimer = .after(QueueLimits.gatherDelay) { [weak self] in
        self?.gatherTimer = nil
        self?.takeTurn(hasGathered: true)
      }
    // There may have been too few permits to wait on every queue.
    case .wait: if plan.isIdle { block() }
    }
  }

  // MARK: - By script

  private func claim(queueIndex: Int, upTo count: Int) {
    let keys = context.queues[queueIndex]
    let worker = context.lease.name.value
    let call = keys.claim(by: worker, upTo: count, noncePrefix: context.lease.makeNoncePrefix(), context.mode)
    openClaims += 1
    context.connection.send(call) { [weak self] result in
      guard let self else { return }
      openClaims -= 1
      takeAnswer(result, queueIndex: queueIndex, asked: count, worker: worker)
      context.emit(.progress)
    }
  }

  private func takeAnswer(
    _ result: Result<RedisValue, RedisError>, queueIndex: Int, asked: Int, worker: String
  ) {
    switch result {
    case .success(let value):
      guard let answer = ClaimAnswer(value, queue: context.queues[queueIndex].queue) else {
        failClaim(asked: asked)
        return takeLapse()
      }
      faults.claimed(from: queueIndex)
      accept(answer, queueIndex: queueIndex, asked: asked, worker: worker)
    case .failure(let error) where error.isWrongType:
      faults.passOver(queueIndex)
      accept(ClaimAnswer(elements: []), queueIndex: queueIndex, asked: asked, worker: worker)
    case .failure(let error):
      failClaim(asked: asked)
      faults.claimFailed(error)
    }
  }

  private func accept(_ answer: ClaimAnswer, queueIndex: Int, asked: Int, worker: String) {
    context.control.take(answer.control, queueIndex: queueIndex)
    context.reportBurials(answer, queueIndex: queueIndex)
    let count = answer.elements.count
    let mayHaveMore = count >= asked || answer.hasMore
    let action = plan.finishClaim(count: count, hasMore: answer.hasMore)
    if case .claim = action {} else { context.permits.release(asked - count) }
    if mayHaveMore { endWaits(behind: queueIndex) }
    if count > 0 { deliver(answer.elements, queueIndex: queueIndex, worker: worker, areInOrder: true) }
    perform(action)
    if mayHaveMore { scheduleTurn() }
  }

  private func failClaim(asked: Int) {
    plan.failClaim()
    context.permits.release(asked)
  }

  /// The heartbeat has expired. The next one shows whether the jobs still belong to this worker.
  private func takeLapse() {
    context.lease.beat()
    faults.pause()
  }

  private func deliver(_ elements: [[UInt8]], queueIndex: Int, worker: String, areInOrder: Bool) {
    // Claimed under an earlier name: the reaper moves the jobs back. At most once, there is no list of them.
    guard worker == context.lease.name.value || context.mode == .atMostOnce else {
      context.lease.abandon(worker, queueIndex: queueIndex)
      context.permits.release(elements.count)
      return
    }
    context.metrics.claimed.increment(by: elements.count)
    context.deliver(elements, queueIndex: queueIndex, areInOrder: areInOrder)
  }

  /// Ends the waits on queues behind one that has a backlog.
  private func endWaits(behind queueIndex: Int) {
    for wait in waits {
      guard let index = wait.queueIndex, plan.mustUnblock(index, afterFullClaimOf: queueIndex) else { continue }
      wait.blocked.unblock(through: context.connection)
    }
  }

  // MARK: - By waiting

  private func block() {
    for wait in waits where wait.blocked.isReady && !wait.blocked.isBlocked && wait.mayBegin {
      guard plan.isIdle, context.lease.mayClaim, !faults.isPausing, context.permits.take(upTo: 1) == 1 else { return }
      let worker = context.lease.name.value
      wait.begin { [weak self, weak wait] result in
        guard let self, let wait else { return }
        takeResult(result, of: wait, worker: worker)
        context.emit(.progress)
      }
    }
  }

  private func takeResult(_ result: BlockingClaimResult, of wait: any BlockingClaim, worker: String) {
    switch result {
    case .claimed(let answer, let queueIndex):
      if answer.isStuck { faults.pause() } else { faults.waited() }
      context.reportBurials(answer, queueIndex: queueIndex)
      plan.expectJobs()
      if answer.elements.isEmpty {
        context.permits.release()
      } else {
        deliver(answer.elements, queueIndex: queueIndex, worker: worker, areInOrder: false)
      }
      scheduleTurn()
    case .nothing:
      faults.waited()
      context.permits.release()
      if wait.blocked.hasEndedEarly { faults.pause() }
      // There may be fewer permits than queues: each wait that brings nothing is followed by a look at all of them.
      resume()
    case .lapsed:
      context.permits.release()
      plan.expectJobs()
      takeLapse()
    case .fault(let error):
      context.permits.release()
      plan.expectJobs()
      guard error.isWrongType else { return faults.waitFailed(error) }
      // BRPOP does not report which of its keys is not a list; the claiming script does.
      if let queueIndex = wait.queueIndex { faults.passOver(queueIndex) }
      faults.pause()
    }
  }
}

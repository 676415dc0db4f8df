import EventLoop
import Jobs
import Redis

/// At most once: waits for a job of the queues, in their order, and takes it out of Redis (BRPOP).
///
/// A job that is too large is moved to the dead letters before the next wait.
@EventLoop
final class BlockingPop: BlockingClaim {
  /// A job that has left Redis and is too large.
  private struct Oversized {
    let queueIndex: Int
    let element: [UInt8]
    let size: Int
    let completion: @EventLoop (BlockingClaimResult) -> Void
  }

  let blocked: BlockedConnection
  let queueIndex: Int?
  private let queues: [QueueKeys]
  /// Those that it waits on.
  private let waitedOn: ArraySlice<QueueKeys>
  private let lease: Lease
  private var unburied: Oversized?
  private var buryTimer: LoopTimer?

  /// Waits on all queues, or on one: in a cluster each may be at another server.
  init(_ context: QueueContext, queueIndex: Int? = nil, endpoint: RedisEndpoint) {
    self.queueIndex = queueIndex
    queues = context.queues
    waitedOn = queueIndex.map { context.queues[$0...$0] } ?? context.queues[...]
    lease = context.lease
    blocked = BlockedConnection(
      endpoint: endpoint, queue: waitedOn.first?.queue ?? "", instruments: context.connection.instruments)
    blocked.connection.preload([QueueScripts.buryPopped])
  }

  func begin(_ completion: @escaping @EventLoop (BlockingClaimResult) -> Void) {
    var command = RedisCommand("BRPOP")
    for keys in waitedOn { command.append(keys.queue) }
    command.append(QueueLimits.blockSeconds)
    blocked.beginWait()
    blocked.connection.send(command, timeout: QueueLimits.blockDeadline) { [weak self] result in
      guard let self else { return }
      blocked.endWait()
      switch result {
      case .failure(let error): completion(.fault(error))
      case .success(let value): take(value, completion)
      }
    }
  }

  private func take(_ value: RedisValue, _ completion: @escaping @EventLoop (BlockingClaimResult) -> Void) {
    guard let pair = value.array, pair.count == 2, let name = pair[0].string, let popped = pair[1].bytes,
      let queueIndex = queues.firstIndex(where: { $0.queue == name })
    else { return completion(.nothing) }
    let element = Seal.envelope(
      ofPopped: popped, seal: lease.seal(queueIndex: queueIndex), nonce: lease.makeNonce())
    let size = popped.count <= Job.maximumBytes ? popped.count : Envelope(element: element).job.count
    guard size > Job.maximumBytes else {
      return completion(.claimed(ClaimAnswer(elements: [element]), queueIndex: queueIndex))
    }
    bury(Oversized(queueIndex: queueIndex, element: element, size: size, completion: completion))
  }

  /// Keeps the job, and writes it again until Redis accepts it.
  private func bury(_ job: Oversized) {
    blocked.extendWait()
    unburied = job
    // One attempt at a time: the connection may have come back before the timer fires.
    buryTimer = nil
    let keys = queues[job.queueIndex]
    blocked.connection.call(QueueScripts.buryPopped, keys: [keys.dead], timeout: QueueLimits.buryDeadline) { command in
      command.append(job.element)
      command.append(job.size)
    } _: { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let value):
        guard let answer = ClaimAnswer(value, queue: keys.queue), !answer.isStuck else { return buryLater() }
        guard unburied != nil else { return }
        unburied = nil
        blocked.endWait()
        job.completion(.claimed(answer, queueIndex: job.queueIndex))
      case .failure(let error): if error.isRefusal { buryLater() }
      }
    }
  }

  private func buryLater() {
    buryTimer = .after(QueueLimits.heartbeatInterval) { [weak self] in self?.connectionReturned() }
  }

  /// Tries again to bury the job that has left Redis, if there is one.
  func connectionReturned() {
    guard blocked.connection.isReady, let unburied else { return }
    bury(unburied)
  }
}

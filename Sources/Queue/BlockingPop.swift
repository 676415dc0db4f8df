import EventLoop
import Jobs
import Redis
import Telemetry

/// At most once: waits for a job of the queues, in their order, and takes it out of Redis (BRPOP).
///
/// A job that is too large is moved to the dead letters before the next wait. A job of a paused queue goes back to its place.
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
  /// The queues that it waits on, unless they are paused.
  private let waitedOn: ArraySlice<QueueKeys>
  private let lease: Lease
  private let control: ControlWatch
  private let log: Log
  private var unburied: Oversized?
  private var buryTimer: LoopTimer?

  /// Waits on all queues, or on one: in a cluster each may be at another server.
  init(_ context: QueueContext, queueIndex: Int? = nil, endpoint: RedisEndpoint) {
    self.queueIndex = queueIndex
    queues = context.queues
    waitedOn = queueIndex.map { context.queues[$0...$0] } ?? context.queues[...]
    lease = context.lease
    control = context.control
    log = context.log
    blocked = BlockedConnection(
      endpoint: endpoint, queue: waitedOn.first?.queue ?? "", instruments: context.connection.instruments)
    blocked.connection.preload([QueueScripts.buryPoppedScript, QueueScripts.handBackScript])
  }

  private var open: [Int] { waitedOn.indices.filter { !control.isPaused(queueIndex: $0) } }

  var mayBegin: Bool { !open.isEmpty }

  /// BRPOP cannot look whether a queue is paused. The control strings are read behind it, in the same write.
  func begin(_ completion: @escaping @EventLoop (BlockingClaimResult) -> Void) {
    let open = open
    var command = RedisCommand("BRPOP")
    var look = RedisCommand("MGET")
    for index in open {
      command.append(queues[index].queue)
      look.append(queues[index].control)
    }
    command.append(QueueLimits.blockSeconds)
    blocked.beginWait()
    var popped = Result<RedisValue, RedisError>.success(.null)
    blocked.connection.send(command, timeout: QueueLimits.blockDeadline) { popped = $0 }
    blocked.connection.send(look, timeout: QueueLimits.blockDeadline) { [weak self] result in
      guard let self else { return }
      blocked.endWait()
      if case .success(let value) = result {
        for (index, control) in zip(open, value.array ?? []) {
          self.control.take(control.bytes.flatMap(ControlState.init(bytes:)), queueIndex: index)
        }
      }
      switch popped {
      case .failure(let error): completion(.fault(error))
      case .success(let value): take(value, completion)
      }
    }
  }

  private func take(_ value: RedisValue, _ completion: @escaping @EventLoop (BlockingClaimResult) -> Void) {
    guard let pair = value.array, pair.count == 2, let name = pair[0].string, let popped = pair[1].bytes,
      let queueIndex = queues.firstIndex(where: { $0.queue == name })
    else { return completion(.nothing) }
    if control.isPaused(queueIndex: queueIndex) { return putBack(popped, queueIndex: queueIndex, completion) }
    let element = Seal.envelope(
      ofPopped: popped, seal: lease.seal(queueIndex: queueIndex), nonce: lease.makeNonce())
    let size = popped.count <= Job.maximumBytes ? popped.count : Envelope(element: element).job.count
    guard size > Job.maximumBytes else {
      return completion(.claimed(ClaimAnswer(elements: [element]), queueIndex: queueIndex))
    }
    bury(Oversized(queueIndex: queueIndex, element: element, size: size, completion: completion))
  }

  /// Puts a job back to the front of its queue, unchanged. If Redis does not confirm it, the job is lost rather than put
  /// back twice.
  private func putBack(
    _ element: [UInt8], queueIndex: Int, _ completion: @escaping @EventLoop (BlockingClaimResult) -> Void
  ) {
    blocked.extendWait()
    let keys = queues[queueIndex]
    let call = QueueScripts.handBack(
      inflight: keys.inflight(lease.name.value), queue: keys.queue, mode: DeliveryMode.atMostOnce.rawValue, element: [],
      sealed: element)
    blocked.connection.send(call, timeout: QueueLimits.buryDeadline) { [weak self] result in
      guard let self else { return }
      blocked.endWait()
      if result != .success(.integer(1)) {
        // Operator: See `answer`. Let the producer send the job again.
        log.error(
          "a job of a paused queue could not be put back (at most once: it is lost)",
          ["queue": .init(keys.queue), "answer": .init("\(result)")])
      }
      completion(.claimed(ClaimAnswer(elements: []), queueIndex: queueIndex))
    }
  }

  /// Keeps the job, and writes it again until Redis accepts it.
  private func bury(_ job: Oversized) {
    blocked.extendWait()
    unburied = job
    // One attempt at a time: the connection may have come back before the timer fires.
    buryTimer = nil
    let keys = queues[job.queueIndex]
    let call = QueueScripts.buryPopped(dead: keys.dead, element: job.element, size: job.size)
    blocked.connection.send(call, timeout: QueueLimits.buryDeadline) { [weak self] result in
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

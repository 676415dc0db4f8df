import EventLoop
import Redis

/// At least once: waits for a job of one queue.
///
/// BLMOVE moves the element to the landing list, and its reply is left out
/// (``RedisConnection/send(_:behindSilent:timeout:_:)``), as the job may be of any size. The claiming
/// script runs behind it on the same connection, checks the element, and answers. The reconciler or the reaper finds
/// what a crash between the two leaves in the landing list.
@EventLoop
final class BlockingMove: BlockingClaim {
  let blocked: BlockedConnection
  let queueIndex: Int?
  private let index: Int
  private let keys: QueueKeys
  private let lease: Lease
  private let control: ControlWatch

  init(_ context: QueueContext, queueIndex: Int, endpoint: RedisEndpoint) {
    self.queueIndex = queueIndex
    index = queueIndex
    keys = context.queues[queueIndex]
    lease = context.lease
    control = context.control
    blocked = BlockedConnection(
      endpoint: endpoint, queue: keys.queue, instruments: context.connection.instruments)
    blocked.connection.preload([QueueScripts.claimScript])
  }

  var mayBegin: Bool { !control.isPaused(queueIndex: index) }

  func begin(_ completion: @escaping @EventLoop (BlockingClaimResult) -> Void) {
    let worker = lease.name.value
    let claim = keys.claim(
      landed: true, by: worker, upTo: 1, noncePrefix: lease.makeNoncePrefix(), .atLeastOnce)
    var move = RedisCommand("BLMOVE", keys.queue, keys.landing(worker), "RIGHT", "LEFT")
    move.append(QueueLimits.blockSeconds)
    let finish: RedisConnection.Completion = { [weak self] result in
      guard let self else { return }
      blocked.endWait()
      completion(read(result))
    }
    blocked.beginWait()
    if blocked.canSkipReplies == true {
      blocked.connection.send(claim, behindSilent: move, timeout: QueueLimits.blockDeadline, finish)
    } else {
      // The element is transferred once more than necessary.
      blocked.connection.send(move, timeout: QueueLimits.blockDeadline) { _ in }
      blocked.connection.send(claim, timeout: QueueLimits.blockDeadline, finish)
    }
  }

  func connectionReturned() {}

  private func read(_ result: Result<RedisValue, RedisError>) -> BlockingClaimResult {
    switch result {
    case .failure(let error): return .fault(error)
    case .success(let value):
      // The reply of BLMOVE, which should have been left out.
      if value.bytes != nil { blocked.markSkipIgnored() }
      guard let answer = ClaimAnswer(value, queue: keys.queue) else { return .lapsed }
      control.take(answer.control, queueIndex: index)
      return answer.isEmpty && !answer.isPaused ? .nothing : .claimed(answer, queueIndex: index)
    }
  }
}

import EventLoop
import Redis

/// A claim that waits in Redis until there is a job. It holds one permit while it waits.
@EventLoop
protocol BlockingClaim: AnyObject {
  var blocked: BlockedConnection { get }
  /// The one queue it waits on; nil when it waits on all of them.
  var queueIndex: Int? { get }
  /// Whether it may wait now. False while all queues that it waits on are paused.
  var mayBegin: Bool { get }
  /// Waits for a job, and claims it under the worker's present name.
  func begin(_ completion: @escaping @EventLoop (BlockingClaimResult) -> Void)
  /// The connection can be used again, after each time it was made.
  func connectionReturned()
}

enum BlockingClaimResult {
  /// At most one job, or the jobs that were buried instead, or none because the queue is paused.
  case claimed(ClaimAnswer, queueIndex: Int)
  /// The time is over, or the wait was ended.
  case nothing
  /// The worker's heartbeat has expired.
  case lapsed
  case fault(RedisError)
}

extension DeliveryMode {
  /// The claims that wait for a worker in this mode.
  @EventLoop
  func blockingClaims(_ context: QueueContext, endpoint: RedisEndpoint) -> [any BlockingClaim] {
    switch self {
    case .atLeastOnce:
      context.queues.indices.map { BlockingMove(context, queueIndex: $0, endpoint: endpoint) }
    case .atMostOnce where context.connection.isCluster:
      context.queues.indices.map { BlockingPop(context, queueIndex: $0, endpoint: endpoint) }
    case .atMostOnce: [BlockingPop(context, endpoint: endpoint)]
    }
  }
}

import EventLoop
import Redis
import Telemetry

/// Logs once what keeps jobs from being claimed, and makes the fetcher pause.
@EventLoop
final class FetchFaults {
  /// Called when a pause is over.
  var onRetry: (@EventLoop () -> Void)?

  private let queues: [QueueKeys]
  private let log: Log
  private var timer: LoopTimer?
  private var hasClaimFault = false
  private var hasWaitFault = false
  /// Queues whose key was last found to hold another type.
  private var wrongTypes: Set<Int> = []

  init(queues: [QueueKeys], log: Log) {
    self.queues = queues
    self.log = log
  }

  var isPausing: Bool { timer != nil }

  func pause() {
    guard timer == nil else { return }
    timer = .after(QueueLimits.faultPause) { [weak self] in
      self?.timer = nil
      self?.onRetry?()
    }
  }

  /// A claim by script was answered.
  func claimed(from queueIndex: Int) {
    wrongTypes.remove(queueIndex)
    guard hasClaimFault else { return }
    hasClaimFault = false
    log.info("claiming from Redis works again")
  }

  func claimFailed(_ error: RedisError) {
    if error.isRefusal, !hasClaimFault {
      hasClaimFault = true
      // Operator: Redis refuses writes: memory, disk, ACL. See `error`.
      log.warn("claiming from Redis failed; trying again until it works", ["error": .init("\(error)")])
    }
    pause()
  }

  /// A wait in Redis was answered.
  func waited() { hasWaitFault = false }

  /// Redis refuses to let a connection wait while its memory is full. Claims by script continue.
  func waitFailed(_ error: RedisError) {
    if error.isRefusal, !hasWaitFault, !hasClaimFault {
      // Operator: Redis refuses writes: memory, disk, ACL. See `error`.
      log.warn("waiting for jobs in Redis failed; polling instead", ["error": .init("\(error)")])
    }
    hasWaitFault = hasWaitFault || error.isRefusal
    pause()
  }

  /// The queue's key is not a list. It is tried again at each turn.
  func passOver(_ queueIndex: Int) {
    guard wrongTypes.insert(queueIndex).inserted else { return }
    // Operator: Find what wrote the key, then RENAME it.
    log.error(
      "a queue key is not a list; rename it (the other queues are served)", ["key": .init(queues[queueIndex].queue)])
  }
}

import EventLoop
import Redis
import Telemetry

/// What keeps jobs from being fetched: says it once, and makes the fetching pause.
@EventLoop
final class FetchFaults {
  /// Called when a pause is over.
  var onRetry: (@EventLoop () -> Void)?

  private let queues: [QueueKeys]
  private let log: Log
  private var timer: LoopTimer?
  private var hasClaimFault = false
  private var hasBlockingFault = false
  /// Queues whose key was last found to be no list.
  private var broken: Set<Int> = []

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

  /// Redis did not take a claim by script.
  func claimFailed(_ error: RedisError) {
    if error.isRefusal, !hasClaimFault {
      hasClaimFault = true
      log.warn("claiming from Redis failed; trying again until it works", ["error": .init("\(error)")])
    }
    pause()
  }

  func claimed(from queueIndex: Int) {
    broken.remove(queueIndex)
    guard hasClaimFault else { return }
    hasClaimFault = false
    log.info("claiming from Redis works again")
  }

  /// Redis refuses to block while its memory is full; claims by script go on.
  func blockingFailed(_ error: RedisError) {
    if error.isRefusal, !hasBlockingFault, !hasClaimFault {
      log.warn("waiting for jobs in Redis failed; asking for them instead", ["error": .init("\(error)")])
    }
    hasBlockingFault = hasBlockingFault || error.isRefusal
    pause()
  }

  func blockingWorked() {
    hasBlockingFault = false
  }

  /// The key is no list: the other queues are served, and this one again as soon as it is gone.
  func passOver(_ queueIndex: Int) {
    guard broken.insert(queueIndex).inserted else { return }
    log.error(
      "a queue key is no list; the other queues are served, move it away", ["key": .init(queues[queueIndex].queue)])
  }
}

import EventLoop
import Redis
import Telemetry

/// Brings retried and scheduled jobs that are due to the front of their queue.
///
/// One worker of the fleet promotes and reaps a queue: the one that holds its ``QueueKeys/promoter`` key.
@EventLoop
final class Promoter {
  private let context: QueueContext
  private var timers: [LoopTimer?]
  private var isElected: [Bool]
  private var isRunning = false

  init(_ context: QueueContext) {
    self.context = context
    timers = Array(repeating: nil, count: context.queues.count)
    isElected = Array(repeating: false, count: context.queues.count)
  }

  /// Whether this worker promotes the queue.
  func isElected(queueIndex: Int) -> Bool { isElected[queueIndex] }

  func start() {
    isRunning = true
    for index in context.queues.indices { promote(index) }
  }

  func stop() {
    isRunning = false
    for index in context.queues.indices {
      timers[index] = nil
      isElected[index] = false
    }
  }

  private func promote(_ index: Int) {
    guard context.connection.isReady, context.lease.isHeld else {
      return schedule(index, in: QueueLimits.electionInterval)
    }
    let call = context.queues[index].promote(by: context.lease.name.value)
    context.connection.send(call) { [weak self] result in
      guard let self else { return }
      guard case .success(let value) = result, let answer = PromotionAnswer(value) else {
        return schedule(index, in: QueueLimits.electionInterval)
      }
      if answer.isElected, !isElected[index] { adoptPaused(index) }
      isElected[index] = answer.isElected
      context.metrics.promoted.increment(by: answer.moved)
      context.control.take(answer.control, queueIndex: index)
      schedule(index, in: answer.delayToNext)
    }
  }

  /// Takes over what an earlier version has paused.
  private func adoptPaused(_ index: Int) {
    let keys = context.queues[index]
    let call = QueueScripts.adoptPaused(
      jobs: keys.pausedJobs, queue: keys.queue, seal: keys.seal, most: QueueLimits.adoptBatch)
    context.connection.send(call) { [weak self] result in
      if case .success(.integer(1...)) = result { self?.adoptPaused(index) }
    }
  }

  private func schedule(_ index: Int, in delay: Duration) {
    guard isRunning else { return }
    timers[index] = .after(delay) { [weak self] in self?.promote(index) }
  }
}

extension QueueKeys {
  func promote(by worker: String) -> RedisCall {
    QueueScripts.promote(
      promoter: promoter, queue: queue, seal: seal, control: control, cancelled: cancelled, drained: drained,
      retry: retry, scheduled: scheduled, worker: worker, ttl: QueueLimits.promoterTimeToLive.milliseconds,
      most: QueueLimits.moveBatch)
  }
}

/// The answer of ``QueueScripts/promote``.
struct PromotionAnswer: Equatable {
  /// False if another worker promotes the queue, or its key is not a list.
  let isElected: Bool
  let moved: Int
  /// When to run the script again.
  let delayToNext: Duration
  /// What operators have asked of the queue; nil if nothing.
  let control: ControlState?

  /// Returns nil if `value` is not an answer of the script.
  init?(_ value: RedisValue) {
    guard let parts = value.array, parts.count == 3, let moved = parts[0].integer, let wait = parts[1].integer else {
      return nil
    }
    isElected = moved >= 0
    self.moved = Int(max(0, moved))
    let due = wait < 0 ? QueueLimits.promoteInterval : .milliseconds(max(1, wait))
    delayToNext = isElected ? min(due, QueueLimits.promoteInterval) : QueueLimits.electionInterval
    control = parts[2].bytes.flatMap(ControlState.init(bytes:))
  }
}

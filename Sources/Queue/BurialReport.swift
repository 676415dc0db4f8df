import EventLoop
import Telemetry

/// Counts what scripts did to the dead letters of their own accord, and says it: the first at once, then once a minute.
@EventLoop
final class BurialReport {
  /// Learns of jobs that nobody can parse, for their records.
  var onOversized: (@EventLoop ([OversizedJob]) -> Void)?

  private let metrics: QueueMetrics
  private let log: Log
  private let oversized: ThrottledWarning<(queue: String, size: Int)>
  private let dropped: ThrottledWarning<String>
  private var stuck: Set<String> = []

  init(metrics: QueueMetrics, log: Log) {
    self.metrics = metrics
    self.log = log
    oversized = ThrottledWarning { count, last in
      log.warn(
        "jobs are too large and went to the dead letters",
        ["jobs": .init(count), "queue": .init(last.queue), "bytes": .init(last.size)])
    }
    dropped = ThrottledWarning { count, queue in
      log.warn(
        "dead letters had to go, the oldest first, as there are too many",
        ["letters": .init(count), "queue": .init(queue), "kept": .init(QueueLimits.maximumDeadLetters)])
    }
  }

  func note(_ answer: ClaimAnswer, _ keys: QueueKeys) {
    guard !answer.oversized.isEmpty || answer.droppedLetters > 0 || answer.isStuck else { return }
    metrics.buried.increment(by: answer.oversized.count)
    for job in answer.oversized { oversized.note((keys.queue, job.size)) }
    if !answer.oversized.isEmpty { onOversized?(answer.oversized) }
    note(droppedLetters: answer.droppedLetters, keys)
    guard answer.isStuck, stuck.insert(keys.dead).inserted else { return }
    log.error("a queue key holds another type; move it away, its jobs wait", ["key": .init(keys.dead)])
  }

  func note(droppedLetters count: Int, _ keys: QueueKeys) {
    guard count > 0 else { return }
    metrics.droppedLetters.increment(by: count)
    dropped.note(keys.queue, count: count)
  }
}

import EventLoop
import Telemetry

/// Counts and logs what scripts did to dead letters and records.
///
/// Each kind may happen for every job: the first is logged at once, then once a minute with the number since.
@EventLoop
final class QueueWarnings {
  private let metrics: QueueMetrics
  private let log: Log
  private let oversized: ThrottledWarning<(queue: String, size: Int)>
  private let droppedLetters: ThrottledWarning<String>
  private let keptRecords: ThrottledWarning<(id: String, queue: String)>
  private let forbiddenReplies: ThrottledWarning<String>
  /// Keys that were last found to hold another type. Each is logged once.
  private var wrongTypes: Set<String> = []

  init(metrics: QueueMetrics, log: Log) {
    self.metrics = metrics
    self.log = log
    oversized = ThrottledWarning { count, last in
      // Operator: Find the producer: `martlet dead list --reason larger`.
      log.warn(
        "jobs are too large; they were moved to the dead letters",
        ["jobs": .init(count), "queue": .init(last.queue), "bytes": .init(last.size)])
    }
    droppedLetters = ThrottledWarning { count, queue in
      // Operator: Read the dead letters; requeue or purge them.
      log.warn(
        "the oldest dead letters were deleted because there are too many",
        ["letters": .init(count), "queue": .init(queue), "kept": .init(QueueLimits.maximumDeadLetters)])
    }
    keptRecords = ThrottledWarning { count, last in
      // Operator: Two producers use one id. Give each job its own, or none.
      log.warn(
        "a record was not written because another job has the same id",
        ["id": .init(last.id), "queue": .init(last.queue), "records": .init(count)])
    }
    forbiddenReplies = ThrottledWarning { count, key in
      // Operator: Give the user a pattern for `key`: [Users](redis.md#users). The job has ended as usual.
      log.warn(
        "a result was not pushed to its reply list because the user of Redis may not write to it",
        ["key": .init(key), "results": .init(count)])
    }
  }

  func warnOfBurials(_ answer: ClaimAnswer, _ keys: QueueKeys) {
    metrics.buried.increment(by: answer.oversized.count)
    for job in answer.oversized { oversized.warn((keys.queue, job.size)) }
    warnOfDroppedLetters(answer.droppedLetters, keys)
    if answer.isStuck { warnOfWrongType(keys.dead) }
  }

  /// `count` dead letters were deleted because there were too many.
  func warnOfDroppedLetters(_ count: Int, _ keys: QueueKeys) {
    guard count > 0 else { return }
    metrics.droppedLetters.increment(by: count)
    droppedLetters.warn(keys.queue, count: count)
  }

  /// The record of a job was not written because another job with the same id has one.
  func warnOfKeptRecord(id: String, queue: String) {
    metrics.keptRecords.increment()
    keptRecords.warn((id, queue))
  }

  /// A result was not pushed to the reply list `key`.
  func warnOfForbiddenReply(_ key: String) { forbiddenReplies.warn(key) }

  func warnOfWrongType(_ key: String) {
    guard wrongTypes.insert(key).inserted else { return }
    // Operator: Find what wrote the key, then RENAME it. If the key has its type, the user of Redis lacks a
    // [right](redis.md#users).
    log.error(
      "a queue key holds another type, or may not be written; its jobs wait until that has ended", ["key": .init(key)])
  }

  /// The key has its type again.
  func clearWrongType(_ key: String) { wrongTypes.remove(key) }
}

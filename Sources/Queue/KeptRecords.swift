import EventLoop
import Telemetry

/// Records that were left as they are because another job has the same id.
@EventLoop
final class KeptRecords {
  private let metrics: QueueMetrics
  private let warning: ThrottledWarning<(id: String, queue: String)>

  init(metrics: QueueMetrics, log: Log) {
    self.metrics = metrics
    warning = ThrottledWarning { count, last in
      log.warn(
        "a record was kept because another job has the same id",
        ["id": .init(last.id), "queue": .init(last.queue), "records": .init(count)])
    }
  }

  func note(id: String, queue: String) {
    metrics.keptRecords.increment()
    warning.note((id, queue))
  }
}

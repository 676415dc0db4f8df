import Queue
import EventLoop
import Jobs
import Redis

/// Jobs that never reached this worker: Redis moved them to the dead letters because of their size.
extension Pipeline {
  /// A record tells the producer, if it can be told which. Lost with a crash in between: the dead letter stays.
  func recordOversized(_ jobs: [OversizedJob]) {
    for job in jobs {
      metrics.refused()
      guard let record = book.record(of: job, worker: queue.lease.name.value) else { continue }
      queue.write(record, queue: job.queue)
    }
  }
}

import Jobs
import EventLoop
public import Redis

extension JobQueue {
  /// Readers one script writes for at most.
  private static let readerBatch = 100

  /// Keeps a notification record for each of its readers who has none of this job yet: it may be repeated. For readers who
  /// come page by page; those of a whole job belong into its ``Settlement``.
  public func keep(
    _ notification: Settlement.Notification, of jobID: String,
    _ completion: @escaping @EventLoop (Result<Void, RedisError>) -> Void
  ) {
    let starts = stride(from: 0, to: notification.readers.count, by: JobQueue.readerBatch)
    var left = starts.underestimatedCount
    var failure: RedisError?
    for start in starts {
      let readers = notification.readers[start...].prefix(JobQueue.readerBatch)
      connection.call(QueueScripts.keepNotification, keys: readers.flatMap(\.keys)) { command in
        command.append(notification.json)
        command.append(jobID)
        for reader in readers { command.append(reader.name) }
      } _: { result in
        if case .failure(let error) = result { failure = error }
        left -= 1
        if left == 0 { completion(failure.map { .failure($0) } ?? .success(())) }
      }
    }
  }
}

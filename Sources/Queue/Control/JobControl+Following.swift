import EventLoop
import Jobs
public import Redis

/// The end of a job that is marked.
extension JobControl {
  /// How soon the end is looked for again; twice as long each time.
  private static let firstPause = Duration.milliseconds(50)
  private static let lastPause = Duration.milliseconds(400)
  /// How long a waiting job is followed. A worker may take it at once, or after a long time.
  private static let waitingPatience = Duration.seconds(1)

  /// Waits at most `patience` for the end of a job that ``cancel(_:)`` has marked. Removes the mark if no job is left for
  /// it.
  ///
  /// A worker learns of a mark within a second, and then removes it with the job. A job that ends earlier leaves its mark,
  /// which would cancel a later job with the id.
  public func follow(_ marked: JobLocation, within patience: Duration) async throws(RedisError) -> Cancellation {
    var end = ContinuousClock.now + patience
    if case .waiting = marked.place { end = min(end, ContinuousClock.now + JobControl.waitingPatience) }
    var pause = JobControl.firstPause
    while ContinuousClock.now < end {
      if let ending = try await ending(of: marked) { return ending }
      do { try await Task.sleep(for: pause) } catch { break }
      pause = min(pause * 2, JobControl.lastPause)
    }
    // It may have moved on to a retry before its worker knew.
    return try await conclude(marked.id, isSought: true)
  }

  /// Nil if the job has not ended.
  private func ending(of marked: JobLocation) async throws(RedisError) -> Cancellation? {
    // First: the script that removes the mark writes the record.
    let isMarked = try await isMarked(marked.id)
    let record = try await record(of: marked.id)
    var ended = marked
    ended.record = nil
    if let record, record.json != marked.recordJSON, record.result.status.isFinal {
      ended.record = record.result
      ended.recordJSON = record.json
      ended.place = .ended(record.result.status)
    }
    let isCancelled = ended.record?.status == .cancelled
    if isMarked {
      // A job that waits is marked before it is taken: it is cancelled. Another job with its id has ended.
      if case .waiting = marked.place, !isCancelled { return nil }
      guard ended.record != nil else { return nil }
      try await unmark(marked.id)
    }
    guard let record = ended.record, isCancelled else { return .ended(ended) }
    return .cancelled(record: record)
  }

  /// Whether an id is marked in any queue.
  private func isMarked(_ id: String) async throws(RedisError) -> Bool {
    for keys in queues.map(QueueKeys.init(queue:)) {
      if try await connection.send(RedisCommand("ZSCORE", keys.cancelled, id)) != .null { return true }
    }
    return false
  }

  /// The record of a job: the bytes and what they say.
  private func record(of id: String) async throws(RedisError) -> (json: [UInt8], result: JobResult)? {
    let bytes = try await connection.send(RedisCommand("GET", QueueKeys.result(id))).contents
    guard let bytes, let result = JobResult(parsing: bytes) else { return nil }
    return (bytes, result)
  }

  /// Removes the mark of an id if no job is left for it.
  func unmarkIfUnneeded(_ id: String) async throws(RedisError) {
    let location = try await locator.locate(id)
    guard !location.isAlive, !location.mayWait else { return }
    try await unmark(id)
  }
}

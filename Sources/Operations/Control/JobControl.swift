public import EventLoop
import Events
public import Jobs
import Queue
public import Redis

/// Cancels jobs, or runs them before their time. A job that has moved on meanwhile is never run or ended twice.
@EventLoop
public struct JobControl {
  /// The result of a request to cancel.
  public enum Cancellation: Sendable, Equatable {
    /// The job will not be sent, or not any further. `record` was written.
    case cancelled(record: JobResult)
    /// The job is waiting or in flight, or was not found. The worker that has or takes it ends it and writes the record.
    case marked(JobLocation)
    /// It is a dead letter, and stays one.
    case dead(JobLocation)
    /// It had ended before. Its record stays.
    case ended(JobLocation)
    /// No job can have the id.
    case invalid
    /// A queue has ``maximumCancellations`` already. In the queues before it the id is cancelled.
    case tooMany
  }

  /// The result of a request to run a job now.
  public enum Advance: Sendable, Equatable {
    /// It is at the front of its queue.
    case done
    /// It is not waiting for its time (any more).
    case notDue(JobLocation)
  }

  /// How long an id stays cancelled.
  private static let cancellationTimeToLive = Duration.seconds(24 * 3600)
  /// Cancelled ids of a queue at most.
  public nonisolated static let maximumCancellations = 10_000
  /// A job may move during the search. After this many moves, the worker that claims the job cancels it by its mark.
  private static let maximumMoves = 3

  private let queues: [String]
  private let connection: RedisClient
  private let locator: JobLocator
  private let recordTimeToLive: Duration

  /// `recordTimeToLive` is that of the records of jobs that are cancelled here: MARTLET_RESULT_TTL.
  public init(queues: [String], connection: RedisClient, recordTimeToLive: Duration = .seconds(24 * 3600)) {
    self.queues = queues
    self.connection = connection
    self.recordTimeToLive = recordTimeToLive
    locator = JobLocator(queues: queues, connection: connection)
  }

  /// Moves a retried or scheduled job to the front of its queue.
  public func runNow(_ id: String) async throws(RedisError) -> Advance {
    guard Job.isID(id) else { return .notDue(try await locator.locate(id)) }
    for keys in queues.map(QueueKeys.init(queue:)) {
      let answer = try await connection.send(
        JobControl.runDue(
          due: keys.due(id), retry: keys.retry, scheduled: keys.scheduled, queue: keys.queue, seal: keys.seal,
          word: Seal.random()))
      if answer.integer == 1 { return .done }
    }
    return .notDue(try await locator.locate(id))
  }

  /// Cancels a job.
  ///
  /// The id is marked first, so that a worker that claims the job meanwhile finds the mark. The mark stays for
  /// ``cancellationTimeToLive``, or until its dead letter is requeued or its broadcast is resumed: a job that is
  /// enqueued under the id meanwhile is cancelled, too.
  public func cancel(_ id: String) async throws(RedisError) -> Cancellation {
    guard Job.isID(id) else { return .invalid }
    guard try await mark(id) else { return .tooMany }
    return try await cancelMarked(id)
  }

  /// Cancels a job whose id is marked: its worker may have put it off since ``cancel(_:)``, or have ended it.
  public func cancelMarked(_ id: String) async throws(RedisError) -> Cancellation {
    var location: JobLocation
    var moves = 0
    repeat {
      if let record = try await cancelDue(id) { return .cancelled(record: record) }
      location = try await locator.locate(id)
      moves += 1
      // A job that is found here was postponed between the two steps.
    } while location.isKept && moves < JobControl.maximumMoves
    return switch location.place {
    case .dead: .dead(location)
    case .ended: .ended(location)
    case .waiting, .inFlight, .retry, .scheduled, .paused, .unknown: .marked(location)
    }
  }

  /// Returns false if a queue has too many marks.
  private func mark(_ id: String) async throws(RedisError) -> Bool {
    for keys in queues.map(QueueKeys.init(queue:)) {
      let answer = try await connection.send(
        JobControl.mark(
          control: keys.control, cancelled: keys.cancelled, id: id,
          ttl: JobControl.cancellationTimeToLive.milliseconds, most: JobControl.maximumCancellations))
      guard answer.integer == 1 else { return false }
    }
    return true
  }

  // MARK: - Jobs that no worker has

  /// Ends a retried or scheduled job, or a paused broadcast. Returns the record; nil if there is no such job.
  private func cancelDue(_ id: String) async throws(RedisError) -> JobResult? {
    for keys in queues.map(QueueKeys.init(queue:)) {
      if let record = try await cancelDue(id, keys) { return record }
    }
    return nil
  }

  private func cancelDue(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> JobResult? {
    // The job may have moved between the two steps, and back again.
    for _ in 0..<JobControl.maximumMoves {
      guard let due = try await locator.due(id, keys), due.isAlive, let envelope = due.envelope else { return nil }
      var ending = CancelledEnding(id: id, queue: keys.queue, envelope: envelope, timeToLive: recordTimeToLive)
      if let list = ending.replyTo, queues.contains(list) { ending.replyTo = nil }
      if try await endAsAllowed(envelope, ending, keys) {
        try await noteBroadcast(id, keys)
        return ending.result
      }
    }
    return nil
  }

  /// If the job is a broadcast, operators see that it is cancelled.
  private func noteBroadcast(_ id: String, _ keys: QueueKeys) async throws(RedisError) {
    let bytes = try await connection.send(RedisCommand("GET", keys.broadcast(id))).contents
    guard var entry = bytes.flatMap({ BroadcastEntry(json: $0, queue: keys.queue) }) else { return }
    entry.state = .cancelled
    entry.changedAt = Clock.unixMilliseconds
    _ = try await connection.send(entry.noting(keys))
  }

  /// Leaves out what the user of Redis may not write: neither the producer's reply list nor the events may prevent the
  /// end of the job.
  private func endAsAllowed(
    _ found: Envelope, _ ending: CancelledEnding, _ keys: QueueKeys
  ) async throws(RedisError) -> Bool {
    var ending = ending
    while true {
      do { return try await end(found, ending, keys) } catch {
        guard case .reply(let refusal) = error, refusal.code == "NOPERM" else { throw error }
        if ending.replyTo != nil {
          ending.replyTo = nil
        } else if ending.event != nil {
          ending.event = nil
        } else {
          throw error
        }
      }
    }
  }

  /// In a cluster record, reply and event are in other hash slots, and are written when the job is gone.
  private func end(
    _ found: Envelope, _ ending: CancelledEnding, _ keys: QueueKeys
  ) async throws(RedisError) -> Bool {
    let due = keys.due(ending.result.id)
    let isSeparate = connection.isCluster
    let answer = try await connection.send(
      JobControl.cancelDue(
        due: due, retry: keys.retry, scheduled: keys.scheduled,
        record: isSeparate ? due : QueueKeys.result(ending.result.id), reply: isSeparate ? due : ending.replyTo ?? due,
        stream: isSeparate || ending.event == nil ? due : EventStream.key,
        head: Array(found.element.prefix { $0 != UInt8(ascii: "\n") }), json: ending.record.json,
        ttl: ending.record.timeToLive.milliseconds, author: ending.record.author ?? "", event: ending.event?.json ?? [])
    )
    guard answer.integer == 1 else { return false }
    if isSeparate { await writeSeparately(ending, nonce: found.nonce) }
    return true
  }

  private func writeSeparately(_ ending: CancelledEnding, nonce: String?) async {
    let records = SeparateRecords(connection: connection)
    let settlement = Settlement(.acknowledge, record: ending.record, replyTo: ending.replyTo)
    _ = await withCheckedContinuation { continuation in
      records.write(settlement, nonce: nonce) { continuation.resume(returning: $0) }
    }
    guard let event = ending.event else { return }
    _ = try? await connection.send(EventStream.appendIfPresent(stream: EventStream.key, event: event.json))
  }
}

extension JobLocation {
  /// Whether the job is kept for later, where ``JobControl`` ends it at once.
  fileprivate var isKept: Bool {
    switch place {
    case .retry, .scheduled, .paused: true
    case .waiting, .inFlight, .dead, .ended, .unknown: false
    }
  }
}

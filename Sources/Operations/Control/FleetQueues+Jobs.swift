import EventLoop
import Events
public import Jobs
import Queue
public import Redis

/// Cancels jobs, or runs them before their time. A job that has moved on meanwhile is never run or ended twice.
extension FleetQueues {
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

  /// How long an id stays cancelled.
  private static let cancellationTimeToLive = Duration.seconds(24 * 3600)
  /// Cancelled ids of a queue at most.
  public nonisolated static let maximumCancellations = 10_000
  /// A job may move during the search. After this many moves, the worker that claims the job cancels it by its mark.
  private static let maximumMoves = 3

  /// Moves a retried or scheduled job to the front of its queue. Returns nil, or where the job is if it is not waiting for
  /// its time (any more).
  public func runNow(_ id: String) async throws(RedisError) -> JobLocation? {
    for keys in keys where Job.isID(id) {
      let answer = try await connection.send(
        OperationsScripts.runDue(
          due: keys.due(id), retry: keys.retry, scheduled: keys.scheduled, queue: keys.queue, seal: keys.seal,
          word: Seal.random()))
      if answer.integer == 1 { return nil }
    }
    return try await locate(id)
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
      location = try await locate(id)
      moves += 1
      // A job that is found here was postponed between the two steps.
    } while location.isKept && moves < FleetQueues.maximumMoves
    return switch location.place {
    case .dead: .dead(location)
    case .ended: .ended(location)
    case .waiting, .inFlight, .retry, .scheduled, .paused, .unknown: .marked(location)
    }
  }

  /// Returns false if a queue has too many marks.
  private func mark(_ id: String) async throws(RedisError) -> Bool {
    for keys in keys {
      let answer = try await connection.send(
        OperationsScripts.mark(
          control: keys.control, cancelled: keys.cancelled, id: id,
          ttl: FleetQueues.cancellationTimeToLive.milliseconds, most: FleetQueues.maximumCancellations))
      guard answer.integer == 1 else { return false }
    }
    return true
  }

  // MARK: - Jobs that no worker has

  /// Ends a retried or scheduled job, or a paused broadcast. Returns the record; nil if there is no such job.
  private func cancelDue(_ id: String) async throws(RedisError) -> JobResult? {
    for keys in keys {
      if let record = try await cancelDue(id, keys) { return record }
    }
    return nil
  }

  private func cancelDue(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> JobResult? {
    // The job may have moved between the two steps, and back again.
    for _ in 0..<FleetQueues.maximumMoves {
      guard let due = try await due(id, keys), due.isAlive, let envelope = due.envelope else { return nil }
      var ending = CancelledEnding(id: id, queue: keys.queue, envelope: envelope, timeToLive: recordTimeToLive)
      if let list = ending.replyTo, names.contains(list) { ending.replyTo = nil }
      if try await endAsAllowed(envelope, ending, keys) {
        try await writeBroadcast(id, keys)
        return ending.result
      }
    }
    return nil
  }

  /// If the job is a broadcast, operators see that it is cancelled.
  private func writeBroadcast(_ id: String, _ keys: QueueKeys) async throws(RedisError) {
    guard var entry = try await entry(id, keys) else { return }
    entry.state = .cancelled
    entry.changedAt = Clock.unixMilliseconds
    _ = try await connection.send(entry.writing(keys))
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
      OperationsScripts.cancelDue(
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
    _ = try? await connection.send(EventScripts.appendIfPresent(stream: EventStream.key, event: event.json))
  }
}

extension JobLocation {
  /// Whether the job is kept for later, where it is ended at once.
  fileprivate var isKept: Bool {
    switch place {
    case .retry, .scheduled, .paused: true
    case .waiting, .inFlight, .dead, .ended, .unknown: false
    }
  }
}

public import EventLoop
public import Jobs
public import Redis

/// Cancels jobs, or runs them before their time. A job that has moved on meanwhile is never run or ended twice.
@EventLoop
public struct JobControl {
  /// What became of a request to cancel.
  public enum Cancellation: Sendable, Equatable {
    /// The job will not be sent, or not any further. `record` was written.
    case cancelled(record: JobResult)
    /// The job is waiting or in flight, or may be waiting. The worker that has it, or takes it, ends it: its record tells.
    case marked(JobLocation)
    /// It is a dead letter. Nothing was changed.
    case dead(JobLocation)
    /// It had ended before. Nothing was changed.
    case ended(JobLocation)
    /// No job and no record has the id.
    case unknown
    /// ``QueueLimits/maximumCancellations`` wait for their jobs. Nothing was changed.
    case tooMany
  }

  /// What became of a request to run a job now.
  public enum Advance: Sendable, Equatable {
    /// It is at the front of its queue.
    case done
    /// It is not waiting for its time (any more).
    case notDue(JobLocation)
  }

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
      let answer = try await connection.run(
        ControlScripts.runDue, keys: [keys.due(id), keys.retry, keys.scheduled, keys.queue, keys.seal],
        arguments: [Seal.random()])
      if answer.integer == 1 { return .done }
    }
    return .notDue(try await locator.locate(id))
  }

  /// Cancels a job.
  ///
  /// The id is marked first, so that a job that is claimed meanwhile is found by its worker. The mark is removed again if it
  /// is not needed.
  public func cancel(_ id: String) async throws(RedisError) -> Cancellation {
    guard Job.isID(id) else { return .unknown }
    guard try await mark(id) else { return .tooMany }
    if let record = try await cancelDue(id) {
      try await unmark(id)
      return .cancelled(record: record)
    }
    let location = try await locator.locate(id)
    switch location.place {
    case .waiting, .inFlight, .retry, .scheduled, .paused:
      // The other queues have no job for their marks.
      try await unmark(id, except: location.queue)
      return .marked(location)
    case .unknown(isWaitingPossible: true): return .marked(location)
    case .dead:
      try await unmark(id)
      return .dead(location)
    case .ended:
      try await unmark(id)
      return .ended(location)
    case .unknown:
      // A worker may just have taken it, or be about to write its record.
      guard try await fleetIsIdle() else { return .marked(location) }
      try await unmark(id)
      return .unknown
    }
  }

  /// Removes the cancellation of an id whose job has ended otherwise.
  public func unmark(_ id: String) async throws(RedisError) { try await unmark(id, except: nil) }

  private func unmark(_ id: String, except queue: String?) async throws(RedisError) {
    for keys in queues.map(QueueKeys.init(queue:)) where keys.queue != queue {
      _ = try await connection.run(ControlScripts.unmark, keys: [keys.control, keys.cancelled], arguments: [id])
    }
  }

  /// Returns false, and leaves no mark, if a queue has too many.
  private func mark(_ id: String) async throws(RedisError) -> Bool {
    for keys in queues.map(QueueKeys.init(queue:)) {
      let answer = try await connection.call(ControlScripts.mark, keys: [keys.control, keys.cancelled]) { command in
        command.append(id)
        command.append(QueueLimits.cancellationTimeToLive.milliseconds)
        command.append(QueueLimits.maximumCancellations)
      }
      guard answer.integer == 1 else {
        try await unmark(id)
        return false
      }
    }
    return true
  }

  /// Whether nothing waits and nothing is in flight.
  private func fleetIsIdle() async throws(RedisError) -> Bool {
    for queue in queues {
      do {
        let overview = try await QueueOverview.read(queue, from: connection)
        guard overview.waiting == 0, overview.inFlight == 0 else { return false }
      } catch let error where error.isWrongType {
        continue
      }
    }
    return true
  }

  // MARK: - Jobs that no worker has

  /// Ends a retried or scheduled job, or a paused broadcast. Returns its record; nil if there is no such job.
  private func cancelDue(_ id: String) async throws(RedisError) -> JobResult? {
    for keys in queues.map(QueueKeys.init(queue:)) {
      // The job may have moved between the two steps, and back again.
      for _ in 0..<3 {
        guard let found = try await cancellable(id, keys) else { break }
        var ending = CancelledEnding(id: id, envelope: found.envelope, timeToLive: recordTimeToLive)
        if let list = ending.replyTo, queues.contains(list) { ending.replyTo = nil }
        do {
          if try await end(found, ending, keys) {
            try await noteBroadcast(id, keys)
            return ending.result
          }
        } catch .reply(let error) where error.code == "NOPERM" && ending.replyTo != nil {
          // The producer's choice of a key must not keep the job.
          ending.replyTo = nil
          if try await end(found, ending, keys) { return ending.result }
        }
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
    _ = try await connection.call(ControlScripts.noteBroadcast, keys: [keys.broadcasts, keys.broadcast(id)]) {
      entry.append(to: &$0)
    }
  }

  private struct Cancellable {
    let envelope: Envelope
    /// The field of a paused broadcast; nil for a retried or scheduled job.
    var field: [UInt8]?
  }

  private func cancellable(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> Cancellable? {
    if let due = try await locator.due(id, keys), due.isAlive, let envelope = due.envelope {
      return Cancellable(envelope: envelope)
    }
    let held = try await connection.run(ControlScripts.heldJobs, keys: [keys.pausedJobs], arguments: [id]).array ?? []
    guard held.count >= 2, let field = held[0].bytes, let element = held[1].bytes else { return nil }
    return Cancellable(envelope: Envelope(element: element), field: field)
  }

  /// In a cluster the record is in another hash slot, and is written when the job is gone.
  private func end(
    _ found: Cancellable, _ ending: CancelledEnding, _ keys: QueueKeys
  ) async throws(RedisError) -> Bool {
    let none = found.field == nil ? keys.due(ending.result.id) : keys.control
    let isSeparate = connection.isCluster
    let record = isSeparate ? none : QueueKeys.result(ending.result.id)
    let reply = isSeparate ? none : ending.replyTo ?? none
    let script = found.field == nil ? ControlScripts.cancelDue : ControlScripts.cancelHeld
    let scriptKeys =
      found.field == nil
      ? [none, keys.retry, keys.scheduled, record, reply] : [none, keys.held, keys.pausedJobs, record, reply]
    let answer = try await connection.call(script, keys: scriptKeys) { command in
      command.append(found.field ?? Array(found.envelope.element.prefix { $0 != UInt8(ascii: "\n") }))
      command.append(ending.record.json)
      command.append(ending.record.timeToLive.milliseconds)
      command.append(ending.record.author ?? "")
    }
    guard answer.integer == 1 else { return false }
    if isSeparate {
      let records = SeparateRecords(connection: connection)
      let settlement = Settlement(.acknowledge, record: ending.record, replyTo: ending.replyTo)
      _ = await withCheckedContinuation { continuation in
        records.write(settlement) { continuation.resume(returning: $0) }
      }
    }
    return true
  }
}

/// The record of a job that is cancelled before a worker took it (again).
struct CancelledEnding {
  var result: JobResult
  let record: Settlement.Record
  var replyTo: String?

  @EventLoop
  init(id: String, envelope: Envelope, timeToLive: Duration) {
    let state = AttemptState(json: envelope.state)
    let now = Clock.unixMilliseconds
    var result = JobResult(
      id: id, status: .cancelled, attempts: envelope.attempts, worker: "", claimedAt: now, finishedAt: now)
    if let earlier = state.result { result.merge(earlier: earlier) }
    result.history = state.history
    result.history.append(now, .ended(.cancelled, reason: nil))
    self.result = result
    record = Settlement.Record(
      jobID: id, json: result.json(), timeToLive: timeToLive, author: state.recordAuthor)
    replyTo = (try? Job(parsing: envelope.job))?.replyTo
  }
}

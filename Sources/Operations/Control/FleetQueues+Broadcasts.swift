import EventLoop
import Jobs
import Queue
public import Redis

/// The latest broadcasts of a fleet: lists, pauses and resumes them. ``FleetQueues/cancel(_:)`` cancels them.
///
/// `Registry` reports the size of an audience and the position of a cursor in it.
extension FleetQueues {
  /// The result of a request to pause a broadcast.
  public enum Pausing: Sendable, Equatable {
    /// It is paused, or will be after its current pages or when a worker takes it.
    case paused
    /// It has ended.
    case ended
    /// No queue knows a broadcast with the id.
    case unknown
    /// ``maximumPausedBroadcasts`` are paused.
    case tooMany
  }

  /// Paused broadcasts of a queue at most.
  public nonisolated static let maximumPausedBroadcasts = 1000

  // MARK: - Reading

  /// Returns the latest broadcasts of all queues, those that changed last first.
  public func broadcasts(limit: Int = 100) async throws(RedisError) -> [BroadcastStatus] {
    var found: [BroadcastStatus] = []
    for keys in keys {
      var command = RedisCommand("ZRANGE", keys.broadcasts, "0")
      command.append(max(0, min(limit, QueueLimits.knownBroadcasts) - 1))
      command.append("REV" as StaticString)
      let ids = try await connection.send(command).array ?? []
      for id in ids.compactMap(\.string) {
        if let status = try await status(id, keys) { found.append(status) }
      }
    }
    return Array(found.sorted { $0.entry.changedAt > $1.entry.changedAt }.prefix(limit))
  }

  /// Returns a broadcast; nil if it is unknown.
  public func broadcast(_ id: String) async throws(RedisError) -> BroadcastStatus? {
    for keys in keys {
      if let status = try await status(id, keys) { return status }
    }
    return nil
  }

  private func status(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> BroadcastStatus? {
    guard let entry = try await entry(id, keys) else { return nil }
    var status = BroadcastStatus(entry: entry)
    if let held = try await connection.send(RedisCommand("HGET", keys.pauses, id)).contents {
      status.pause = QueuePause(json: held)
      // It may not have stopped yet.
      if entry.state == .waiting { status.entry.state = .paused }
    }
    if let state = try await progress(of: entry, keys) {
      status.cursor = state.cursor
      status.accepted = state.result?.accepted ?? 0
      status.failed = state.result?.failed ?? 0
    }
    return status
  }

  /// The progress at the last committed page. It is read from the element if the broadcast is paused or waits for its next
  /// attempt, and from the record if it has ended.
  private func progress(of entry: BroadcastEntry, _ keys: QueueKeys) async throws(RedisError) -> AttemptState? {
    let stored = try await connection.send(RedisCommand("GET", keys.progress(entry.nonce))).contents
    if let stored, let line = stored.firstIndex(of: UInt8(ascii: "\n")) {
      return AttemptState(json: Array(stored[(line + 1)...]))
    }
    switch entry.state {
    case .waiting, .running, .paused:
      let due = try await due(entry.id, keys)
      return due?.envelope.map { AttemptState(json: $0.state) }
    case .finished, .cancelled:
      let record = try await connection.send(RedisCommand("GET", QueueKeys.result(entry.id))).contents
      var state = AttemptState()
      state.result = record.flatMap(JobResult.init(parsing:))
      return state
    }
  }

  // MARK: - Acting

  /// Pauses a broadcast after its current pages. Its progress is kept, and other jobs are not delayed.
  public func pause(broadcast id: String, by operatorName: String) async throws(RedisError) -> Pausing {
    guard Job.isID(id), let (keys, entry) = try await find(id) else { return .unknown }
    guard entry.state != .finished, entry.state != .cancelled else { return .ended }
    let pause = QueuePause(since: Clock.unixMilliseconds, by: operatorName, reason: "")
    let answer = try await connection.send(
      OperationsScripts.pauseBroadcast(
        control: keys.control, pauses: keys.pauses, broadcast: keys.broadcast(id), id: id, reason: pause.json(),
        most: FleetQueues.maximumPausedBroadcasts))
    switch answer.integer {
    case 1: return .paused
    case -1: return .ended
    default: return .tooMany
    }
  }

  /// Lets a paused broadcast continue after its last page. Returns false if it was not paused.
  public func resume(broadcast id: String) async throws(RedisError) -> Bool {
    var wasPaused = false
    for keys in keys {
      let answer = try await connection.send(
        OperationsScripts.resumeBroadcast(
          control: keys.control, pauses: keys.pauses, due: keys.due(id), scheduled: keys.scheduled, queue: keys.queue,
          seal: keys.seal, cancelled: keys.cancelled, id: id, word: Seal.random()))
      if answer.integer == 1 { wasPaused = true }
    }
    return wasPaused
  }

  private func find(_ id: String) async throws(RedisError) -> (QueueKeys, BroadcastEntry)? {
    for keys in keys {
      if let entry = try await entry(id, keys) { return (keys, entry) }
    }
    return nil
  }

  /// Returns a broadcast of a queue; nil if it is unknown there.
  func entry(_ id: String, _ keys: QueueKeys) async throws(RedisError) -> BroadcastEntry? {
    let bytes = try await connection.send(RedisCommand("GET", keys.broadcast(id))).contents
    return bytes.flatMap { BroadcastEntry(json: $0, queue: keys.queue) }
  }
}

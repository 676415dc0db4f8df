import EventLoop
import Jobs
public import Redis

/// What operators ask of jobs, as their worker sees it.
extension JobQueue {
  /// A claimed job that is looked up before it is worked on.
  public struct Screened: Sendable {
    let id: String
    public let replaces: Bool

    /// `replaces`: whether it replaces the job that is scheduled under its id.
    public init(id: String, replaces: Bool) {
      self.id = id
      self.replaces = replaces
    }
  }

  public enum Screening: Int64, Sendable {
    case go = 0
    case cancelled = 1
    /// A broadcast that an operator has paused.
    case paused = 2
  }

  /// Whether jobs that were claimed from this queue must be screened. False if operators have asked nothing of the queue.
  public func mustScreen(queueIndex: Int) -> Bool { context.control.mustScreen(queueIndex: queueIndex) }

  /// Whether jobs are cancelled.
  public func hasCancellations(queueIndex: Int) -> Bool {
    context.control.hasCancellations(queueIndex: queueIndex)
  }

  /// Whether broadcasts are paused.
  public func hasPausedBroadcasts(queueIndex: Int) -> Bool {
    context.control.hasPausedBroadcasts(queueIndex: queueIndex)
  }

  /// Whether scheduled jobs may have to be replaced.
  public func hasScheduledIDs(queueIndex: Int) -> Bool {
    context.control.hasScheduledIDs(queueIndex: queueIndex)
  }

  /// Notes that this worker schedules a job under its producer's id. The jobs that were claimed with it must be screened.
  public func noteScheduledID(queueIndex: Int) { context.control.noteScheduledID(queueIndex: queueIndex) }

  /// Notes that the requests of operators could not be read. They are read again with the next answer of Redis.
  public func repeatControlChange(queueIndex: Int) { context.control.repeatChange(queueIndex: queueIndex) }

  /// Looks up which of the jobs are cancelled, and which broadcasts are paused. Removes the scheduled jobs that are
  /// replaced.
  public func screen(
    _ jobs: [Screened], queueIndex: Int,
    _ completion: @escaping @EventLoop (Result<[Screening], RedisError>) -> Void
  ) {
    let keys = queues[queueIndex]
    let locators = jobs.map { $0.replaces ? keys.due($0.id) : keys.cancelled }
    let call = ControlScripts.screen(
      cancelled: keys.cancelled, held: keys.held, scheduled: keys.scheduled, locators: RedisList(locators),
      ids: RedisList(jobs.map(\.id)))
    context.connection.send(call) { result in
      completion(result.map { value in (value.array ?? []).map { $0.integer.flatMap(Screening.init) ?? .go } })
    }
  }

  /// Makes a scheduled job due now, if it is scheduled. A queue of others, or one that Redis does not answer for, stays as it is:
  /// whoever schedules a job to be hastened does not rely on it alone.
  public func hasten(_ jobID: String, queue: String) {
    guard let keys = queues.first(where: { $0.queue == queue }) else { return }
    context.connection.send(ControlScripts.hasten(due: keys.due(jobID), scheduled: keys.scheduled)) { _ in }
  }

  /// Publishes what a broadcast does, for ``BroadcastDirectory``.
  public func note(_ state: BroadcastEntry.State, ofBroadcast id: String, app: String, claim: Claim) {
    let keys = queues[claim.queueIndex]
    let entry = BroadcastEntry(
      id: id, queue: keys.queue, app: app, state: state, startedAt: claim.claimedAt, changedAt: Clock.unixMilliseconds,
      worker: lease.name.value, nonce: claim.envelope.nonce ?? "")
    context.connection.send(entry.noting(keys)) { _ in }
  }
}

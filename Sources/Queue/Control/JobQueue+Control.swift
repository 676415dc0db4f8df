import EventLoop
import Jobs
public import Redis

/// What operators ask of jobs, as their worker sees it.
extension JobQueue {
  public enum Screening: Int64, Sendable {
    case go = 0
    case cancelled = 1
    /// A broadcast that an operator has paused.
    case paused = 2
  }

  /// Looks up which of the jobs are cancelled, and which broadcasts are paused. Removes the scheduled jobs that are
  /// replaced: a job that `replaces` replaces the one that is scheduled under its id.
  public func screen(
    _ jobs: [(id: String, replaces: Bool)], queueIndex: Int,
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

  /// Publishes what a broadcast does, for operators.
  public func note(_ state: BroadcastEntry.State, ofBroadcast id: String, app: String, claim: Claim) {
    let keys = queues[claim.queueIndex]
    let entry = BroadcastEntry(
      id: id, queue: keys.queue, app: app, state: state, startedAt: claim.claimedAt, changedAt: Clock.unixMilliseconds,
      worker: lease.name.value, nonce: claim.envelope.nonce ?? "")
    context.connection.send(entry.noting(keys)) { _ in }
  }
}

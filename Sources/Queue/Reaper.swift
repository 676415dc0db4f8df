import EventLoop
import Events
import Redis
import Telemetry

/// Moves the jobs of dead workers back to their queue. Runs for the queues that this worker promotes.
@EventLoop
final class Reaper {
  private let context: QueueContext
  private let promoter: Promoter
  private var timer: LoopTimer?
  /// Nanoseconds of the monotonic clock. After an outage, living workers need time to renew their heartbeats.
  private var notBefore: UInt64 = 0

  init(_ context: QueueContext, promoter: Promoter) {
    self.context = context
    self.promoter = promoter
  }

  func start() {
    timer = .every(QueueLimits.reapInterval) { [weak self] in self?.reapAll() }
  }

  func stop() { timer = nil }

  /// Waits until every living worker had the time to renew its heartbeat, which may have expired in the outage.
  func connectionReturned() {
    notBefore = Clock.monotonicNanoseconds + UInt64(QueueLimits.heartbeatTimeToLive.nanoseconds)
  }

  private func reapAll() {
    guard context.connection.isReady, context.lease.isHeld, Clock.monotonicNanoseconds >= notBefore else { return }
    for index in context.queues.indices where promoter.isElected(queueIndex: index) {
      findDead(context.queues[index])
    }
  }

  private func findDead(_ keys: QueueKeys) {
    context.connection.send(RedisCommand("SMEMBERS", keys.workers)) { [weak self] result in
      guard let self, case .success(.array(let members)) = result else { return }
      for worker in members.compactMap(\.string) where worker != context.lease.name.value {
        context.connection.send(RedisCommand("EXISTS", keys.heartbeat(worker))) { [weak self] result in
          guard case .success(.integer(0)) = result else { return }
          self?.reap(worker, keys, moved: 0)
        }
      }
    }
  }

  /// Runs the script until no job is left. `moved` counts the jobs of earlier runs.
  private func reap(_ worker: String, _ keys: QueueKeys, moved: Int) {
    let now = Clock.unixMilliseconds
    context.connection.send(keys.reap(worker, at: now)) { [weak self] result in
      guard let self, case .success(.array(let parts)) = result, parts.count == 5, let left = parts[0].integer,
        let back = parts[1].count, let buried = parts[2].count, let dropped = parts[3].count, left >= 0
      else { return }
      context.metrics.reaped.increment(by: back)
      context.metrics.buried.increment(by: buried)
      if buried > 0 {
        reportBurials(
          (parts[4].array?.compactMap(\.bytes) ?? []).map {
            CrashedJob(beginning: $0, worker: worker, queue: keys.queue)
          }, keys, at: now)
      }
      context.warnings.warnOfDroppedLetters(dropped, keys)
      let moved = moved + back + buried
      guard left == 0 else { return reap(worker, keys, moved: moved) }
      context.metrics.reapedWorkers[keys.queue].increment()
      // Operator: See why it died. Its jobs are safe.
      context.log.warn(
        "a worker died; its jobs run again",
        ["worker": .init(worker), "queue": .init(keys.queue), "jobs": .init(moved)])
    }
  }

  /// Writes the events of buried jobs, and lets the worker write their records.
  /// If this worker ends just now, nothing of this is done.
  private func reportBurials(_ jobs: [CrashedJob], _ keys: QueueKeys, at now: Int64) {
    context.events?.append(
      jobs.map {
        .dead(EventJob(id: $0.id, queue: $0.queue), reason: $0.reason, attempts: $0.attempts, at: now)
      })
    context.emit(.crashed(jobs))
  }
}

extension QueueKeys {
  /// `now` is in unix ms.
  func reap(_ worker: String, at now: Int64) -> RedisCall {
    QueueScripts.reap(
      heartbeat: heartbeat(worker), inflight: inflight(worker), queue: queue, workers: workers, dead: dead,
      tombstone: tombstone(worker), landing: landing(worker), seal: seal, drained: drained, worker: worker,
      most: QueueLimits.moveBatch, crashes: QueueLimits.maximumCrashes, at: now,
      head: DeadLetter.head(id: nil, reason: DeadLetter.crashedWorkers, at: now, attempts: 0),
      ttl: QueueLimits.tombstoneTimeToLive.milliseconds)
  }
}

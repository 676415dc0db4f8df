import EventLoop
import Redis
import Telemetry

/// Keeps the queues: brings due jobs forward and dead workers' jobs back. One worker of the fleet does it per queue.
@EventLoop
final class Keeper {
  private let connection: RedisConnection
  private let queues: [QueueKeys]
  private let lease: Lease
  private let metrics: QueueMetrics
  private let burials: BurialReport
  private let log: Log
  private var promoteTimers: [LoopTimer?]
  private var reapTimer: LoopTimer?
  private var isKeeping: [Bool]
  /// Nobody is reaped before living workers had the time to renew after an outage.
  private var reapNotBefore: UInt64 = 0

  init(
    connection: RedisConnection, queues: [QueueKeys], lease: Lease, metrics: QueueMetrics, burials: BurialReport,
    log: Log
  ) {
    self.connection = connection
    self.queues = queues
    self.lease = lease
    self.metrics = metrics
    self.burials = burials
    self.log = log
    promoteTimers = Array(repeating: nil, count: queues.count)
    isKeeping = Array(repeating: false, count: queues.count)
  }

  func start() {
    // First: without it nothing is scheduled again, and Redis may not have answered yet.
    reapTimer = .every(QueueLimits.reapInterval) { [weak self] in self?.reapAll() }
    for index in queues.indices { promote(index) }
  }

  func stop() {
    promoteTimers = promoteTimers.map { _ in nil }
    reapTimer = nil
    isKeeping = isKeeping.map { _ in false }
  }

  /// The connection was lost: the others' heartbeats may have lapsed for no fault of theirs.
  func connectionReturned() {
    reapNotBefore = Clock.monotonicNanoseconds + UInt64(QueueLimits.heartbeatTimeToLive.nanoseconds)
  }

  private func promote(_ index: Int) {
    guard connection.isReady, lease.isHeld else { return scheduleNext(index, in: QueueLimits.keeperWatchInterval) }
    let keys = queues[index]
    connection.call(QueueScripts.promote, keys: [keys.keeper, keys.queue, keys.seal, keys.retry, keys.scheduled]) {
      command in
      command.append(lease.name.value)
      command.append(QueueLimits.keeperTimeToLive.milliseconds)
      command.append(QueueLimits.moveBatch)
    } _: { [weak self] result in
      guard let self else { return }
      guard case .success(.array(let answer)) = result, answer.count == 2, let moved = answer[0].integer,
        let wait = answer[1].integer
      else { return self.scheduleNext(index, in: QueueLimits.keeperWatchInterval) }
      self.isKeeping[index] = moved >= 0
      if moved > 0 { self.metrics.promoted.increment(by: Int(moved)) }
      if moved < 0 {
        self.scheduleNext(index, in: QueueLimits.keeperWatchInterval)
      } else if wait >= 0, wait < QueueLimits.promoteInterval.milliseconds {
        self.scheduleNext(index, in: .milliseconds(max(wait, 1)))
      } else {
        self.scheduleNext(index, in: QueueLimits.promoteInterval)
      }
    }
  }

  private func scheduleNext(_ index: Int, in delay: Duration) {
    guard reapTimer != nil else { return }
    promoteTimers[index] = .after(delay) { [weak self] in self?.promote(index) }
  }

  private func reapAll() {
    guard connection.isReady, lease.isHeld, Clock.monotonicNanoseconds >= reapNotBefore else { return }
    for index in queues.indices where isKeeping[index] { findDead(queues[index]) }
  }

  private func findDead(_ keys: QueueKeys) {
    connection.send(RedisCommand("SMEMBERS", keys.workers)) { [weak self] result in
      guard let self, case .success(.array(let members)) = result else { return }
      for worker in members.compactMap(\.string) where worker != self.lease.name.value {
        self.connection.send(RedisCommand("EXISTS", keys.heartbeat(worker))) { [weak self] result in
          guard case .success(.integer(0)) = result else { return }
          self?.reap(worker, keys, total: 0)
        }
      }
    }
  }

  private func reap(_ worker: String, _ keys: QueueKeys, total: Int64) {
    let scriptKeys = [
      keys.heartbeat(worker), keys.inflight(worker), keys.queue, keys.workers, keys.dead, keys.tombstone(worker),
      keys.landing(worker), keys.seal,
    ]
    let now = Clock.unixMilliseconds
    connection.call(QueueScripts.reap, keys: scriptKeys) { command in
      command.append(worker)
      command.append(QueueLimits.moveBatch)
      command.append(QueueLimits.maximumCrashes)
      command.append(now)
      command.append(DeadLetter.head(id: nil, reason: DeadLetter.crashedWorkers, at: now, attempts: 0))
      command.append(QueueLimits.tombstoneTimeToLive.milliseconds)
    } _: { [weak self] result in
      guard let self, case .success(.array(let answer)) = result, answer.count == 4, let left = answer[0].integer,
        let back = answer[1].integer, let buried = answer[2].integer, let dropped = answer[3].integer, left >= 0
      else { return }
      self.metrics.reaped.increment(by: Int(back))
      self.metrics.buried.increment(by: Int(buried))
      self.burials.note(droppedLetters: Int(dropped), keys)
      guard left == 0 else { return self.reap(worker, keys, total: total + back + buried) }
      self.log.warn(
        "a worker died; its jobs run again",
        ["worker": .init(worker), "queue": .init(keys.queue), "jobs": .init(total + back + buried)])
    }
  }
}

public import EventLoop
import Redis
import Telemetry

/// This worker's right to its in-flight lists: kept by heartbeats, judged by Redis' clock, lost when the fleet has taken
/// the worker for dead.
@EventLoop
public final class Lease {
  public private(set) var name = WorkerName()
  /// Whether Redis knows of this worker: nothing is claimed before.
  public private(set) var isHeld = false
  /// The worker's own account of itself, JSON; other programs show it.
  public var report: @EventLoop () -> [UInt8] = { Array("{}".utf8) }
  /// The in-flight list of a queue has this many entries; the answer came in order with all claims and settlements.
  var onInflightLength: (@EventLoop (_ queueIndex: Int, _ length: Int) -> Void)?
  /// The jobs are somebody else's now.
  var onFenced: (@EventLoop () -> Void)?
  /// Redis has lost the in-flight lists, though nobody has taken them.
  var onForgotten: (@EventLoop (_ queueIndex: Int) -> Void)?
  /// A heartbeat was confirmed: what was held back may go on.
  var onConfirmed: (@EventLoop () -> Void)?
  /// The same, for the worker itself.
  public var onHeld: (@EventLoop () -> Void)?

  private let connection: RedisConnection
  private let queues: [QueueKeys]
  private let log: Log
  private var confirmedAt: UInt64 = 0
  private var timer: LoopTimer?
  private var nonceCount: UInt64 = 0

  init(connection: RedisConnection, queues: [QueueKeys], log: Log) {
    self.connection = connection
    self.queues = queues
    self.log = log
  }

  /// Whether the last confirmed heartbeat is young enough to send in its name.
  public var isFresh: Bool {
    isHeld && Clock.monotonicNanoseconds - confirmedAt < UInt64(QueueLimits.leaseFreshness.nanoseconds)
  }

  /// A nonce no other job gets.
  func nextNonce() -> String {
    nonceCount += 1
    return "\(name.nonceBase).\(nonceCount)"
  }

  /// Starts the nonces of one claim; the script adds a number to each.
  func nextNoncePrefix() -> String { nextNonce() + "." }

  /// Begins to hold the lease; repeats itself until ``stop()``.
  func start() {
    beat()
    timer = .every(QueueLimits.heartbeatInterval) { [weak self] in self?.beat() }
  }

  func stop() {
    timer = nil
    isHeld = false
  }

  /// Renews now: after a reconnection, or when something waits for it.
  public func beat() {
    guard connection.isReady else { return }
    isHeld ? renew() : register()
  }

  private func register() {
    let sentAt = Clock.monotonicNanoseconds
    let worker = name.value
    var left = queues.count
    for keys in queues {
      // The heartbeat stands before the reaper can see the worker.
      var set = RedisCommand("SET", keys.heartbeat(worker))
      set.append(report())
      set.append("PX")
      set.append(QueueLimits.heartbeatTimeToLive.milliseconds)
      connection.send(set) { _ in }
      connection.send(RedisCommand("SADD", keys.workers, worker)) { [weak self] result in
        guard let self, case .success = result, worker == self.name.value else { return }
        left -= 1
        guard left == 0 else { return }
        self.isHeld = true
        self.confirm(sentAt)
      }
    }
  }

  private func renew() {
    let sentAt = Clock.monotonicNanoseconds
    let worker = name.value
    let report = report()
    var left = queues.count
    for (index, keys) in queues.enumerated() {
      connection.call(
        QueueScripts.heartbeat, keys: [keys.heartbeat(worker), keys.workers, keys.inflight(worker)]
      ) { command in
        command.append(worker)
        command.append(QueueLimits.heartbeatTimeToLive.milliseconds)
        command.append(report)
      } _: { [weak self] result in
        guard let self, worker == self.name.value, case .success(.array(let answer)) = result,
          answer.count == 2, let state = answer[0].integer, let length = answer[1].integer
        else { return }
        if state == 0 { return self.fence() }
        if state == 2 { self.onForgotten?(index) } else { self.onInflightLength?(index, Int(length)) }
        left -= 1
        if left == 0 { self.confirm(sentAt) }
      }
    }
  }

  private func confirm(_ sentAt: UInt64) {
    confirmedAt = max(confirmedAt, sentAt)
    onConfirmed?()
    onHeld?()
  }

  /// Gives up everything and comes back under a new name.
  func fence() {
    log.warn(
      "fenced: the fleet took this worker for dead; starting over under a new name", ["worker": .init(name.value)])
    for keys in queues {
      connection.send(RedisCommand("DEL", keys.heartbeat(name.value))) { _ in }
    }
    isHeld = false
    name = WorkerName()
    onFenced?()
    register()
  }

  /// Leaves the fleet; for a worker that holds nothing any more.
  func leave() {
    stop()
    for keys in queues {
      connection.send(RedisCommand("SREM", keys.workers, name.value)) { _ in }
      connection.send(RedisCommand("DEL", keys.heartbeat(name.value))) { _ in }
      connection.send(RedisCommand("DEL", keys.keeper)) { _ in }
    }
  }
}

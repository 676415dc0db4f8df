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

  private let connection: RedisConnection
  private let queues: [QueueKeys]
  private let log: Log
  private var confirmedAt: UInt64 = 0
  /// A heartbeat was confirmed on the present connection: Redis has what it had before.
  private(set) var isConfirmed = false
  private var timer: LoopTimer?
  private var nonceCount: UInt64 = 0
  /// The seal of each queue: Redis' own, or what this worker offers.
  private var seals: [String]

  init(connection: RedisConnection, queues: [QueueKeys], log: Log) {
    self.connection = connection
    self.queues = queues
    self.log = log
    seals = queues.map { _ in Seal.random() }
  }

  /// The word in front of the fleet's own elements in a queue's list.
  func seal(queueIndex: Int) -> String { seals[queueIndex] }

  /// Whether jobs may be claimed in its name.
  var mayClaim: Bool { isFresh && isConfirmed }

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

  /// What was popped from a queue as it is, in its envelope.
  func envelope(ofPopped bytes: [UInt8], queueIndex: Int) -> [UInt8] {
    Seal.envelope(ofPopped: bytes, seal: seals[queueIndex], nonce: nextNonce())
  }

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

  /// What Redis has lost in an outage is known with the next heartbeat only.
  func connectionLost() { isConfirmed = false }

  private func register() {
    let sentAt = Clock.monotonicNanoseconds
    let worker = name.value
    var left = queues.count
    for (index, keys) in queues.enumerated() {
      connection.call(QueueScripts.join, keys: [keys.heartbeat(worker), keys.workers, keys.seal]) { command in
        command.append(worker)
        command.append(QueueLimits.heartbeatTimeToLive.milliseconds)
        command.append(report())
        command.append(seals[index])
      } _: { [weak self] result in
        guard let self, case .success(let seal) = result, worker == self.name.value else { return }
        self.seals[index] = seal.string ?? self.seals[index]
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
        QueueScripts.heartbeat,
        keys: [
          keys.heartbeat(worker), keys.workers, keys.inflight(worker), keys.tombstone(worker), keys.landing(worker),
          keys.seal,
        ]
      ) { command in
        command.append(worker)
        command.append(QueueLimits.heartbeatTimeToLive.milliseconds)
        command.append(report)
        command.append(seals[index])
      } _: { [weak self] result in
        guard let self, worker == self.name.value, case .success(.array(let answer)) = result,
          answer.count == 3, let state = answer[0].integer, let length = answer[1].integer
        else { return }
        self.seals[index] = answer[2].string ?? self.seals[index]
        if state == 0 { return self.fence() }
        if state == 2 { self.onForgotten?(index) } else { self.onInflightLength?(index, Int(length)) }
        left -= 1
        if left == 0 { self.confirm(sentAt) }
      }
    }
  }

  private func confirm(_ sentAt: UInt64) {
    confirmedAt = max(confirmedAt, sentAt)
    isConfirmed = true
    onConfirmed?()
  }

  /// Gives up everything and comes back under a new name.
  func fence() {
    log.warn(
      "fenced: the fleet took this worker for dead; starting over under a new name", ["worker": .init(name.value)])
    for index in queues.indices { abandon(name.value, queueIndex: index) }
    isHeld = false
    isConfirmed = false
    name = WorkerName()
    onFenced?()
    register()
  }

  /// An earlier name of this worker: a blocked claim may still move a job into its in-flight list. The name stays alive
  /// until none can, and then is the reaper's.
  func abandon(_ worker: String, queueIndex: Int) {
    let keys = queues[queueIndex]
    connection.call(QueueScripts.join, keys: [keys.heartbeat(worker), keys.workers, keys.seal]) { command in
      command.append(worker)
      command.append(QueueLimits.blockDeadline.milliseconds)
      command.append("{}")
      command.append(seals[queueIndex])
    } _: { _ in
    }
  }

  /// Leaves the fleet. What is left in its in-flight lists, or `mayStillGetJobs`, is the reaper's.
  func leave(mayStillGetJobs: Bool) {
    stop()
    let worker = name.value
    for keys in queues {
      let scriptKeys = [
        keys.heartbeat(worker), keys.workers, keys.inflight(worker), keys.keeper, keys.landing(worker),
      ]
      connection.call(QueueScripts.leave, keys: scriptKeys) { command in
        command.append(worker)
        command.append(mayStillGetJobs ? QueueLimits.blockDeadline.milliseconds : 0)
      } _: { _ in
      }
    }
  }
}

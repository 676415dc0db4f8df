public import EventLoop
import Redis
import Telemetry

/// What ``JobQueue`` learns from the worker's ``Lease``.
enum LeaseEvent {
  /// Redis has confirmed a heartbeat for every queue.
  case confirmed
  /// The fleet has taken the worker's jobs; the worker has a new name.
  case fenced
  /// Redis has lost the in-flight list of a queue, and no other worker has taken its jobs.
  case forgotten(queueIndex: Int)
  /// The in-flight and the landing list of a queue have `length` entries together. The answer arrives in order with
  /// those to claims and settlements.
  case inflight(queueIndex: Int, length: Int)
}

/// The worker's right to the jobs in its in-flight lists.
///
/// Heartbeats keep it, and the clock of Redis decides when it expires. It is lost when the worker is taken for dead.
@EventLoop
public final class Lease {
  public private(set) var name = WorkerName()
  /// Returns the worker's report, JSON of ``WorkerReport``, for the next heartbeat.
  public var report: @EventLoop () -> [UInt8] = { Array("{}".utf8) }

  var onEvent: (@EventLoop (LeaseEvent) -> Void)?

  /// How long Redis took to answer the last heartbeats of all queues; nil before the first answer.
  public private(set) var roundTrip: Duration?

  private let connection: RedisClient
  private let queues: [QueueKeys]
  private let log: Log
  private let refusals: ThrottledWarning<(queue: String, answer: String)>
  private var phase = LeasePhase.joining
  private var timer: LoopTimer?
  private var nonceCount: UInt64 = 0
  /// The seal of each queue: the one in Redis, or the one that this worker proposes.
  private var seals: [String]

  init(connection: RedisClient, queues: [QueueKeys], log: Log) {
    self.connection = connection
    self.queues = queues
    self.log = log
    seals = queues.map { _ in Seal.random() }
    refusals = ThrottledWarning { count, last in
      // Operator: A key of the fleet has another type, or Redis refuses writes. The worker claims nothing from any
      // queue. See `queue` and `answer`; rename the key.
      log.warn(
        "Redis refuses a heartbeat; this worker claims nothing until Redis confirms those of all queues",
        ["queue": .init(last.queue), "answer": .init(last.answer), "heartbeats": .init(count)])
    }
  }

  // MARK: - State

  /// Whether Redis knows the worker's name. Nothing is claimed before.
  public var isHeld: Bool { phase.isHeld }

  /// Whether Redis has confirmed a heartbeat on the present connection: it has the data that it had before.
  var isConfirmed: Bool { phase.isConfirmed }

  /// Whether the last confirmed heartbeat is young enough to send pushes under it.
  public var isFresh: Bool { phase.isFresh(at: Clock.monotonicNanoseconds) }

  /// Whether jobs may be claimed under the worker's name.
  public var mayClaim: Bool { isFresh && isConfirmed }

  /// The word in front of the fleet's own elements in a queue's list.
  func seal(queueIndex: Int) -> String { seals[queueIndex] }

  /// Makes a nonce that no other job has.
  func makeNonce() -> String {
    nonceCount += 1
    return FirstClaim.nonce(name.nonceBase, nonceCount, at: Clock.unixMilliseconds)
  }

  /// Makes the prefix of the nonces of one claim; the script appends a number for each job.
  func makeNoncePrefix() -> String { makeNonce() + "." }

  // MARK: - Heartbeats

  /// Joins the fleet, and sends heartbeats until ``leave(mayStillGetJobs:)``.
  func start() {
    beat()
    timer = .every(QueueLimits.heartbeatInterval) { [weak self] in self?.beat() }
  }

  /// Sends a heartbeat now: after a reconnection, or when something waits for a confirmed lease.
  public func beat() {
    guard connection.isReady else { return }
    if phase != .left { renew() }
  }

  func loseConnection() { phase.loseConnection() }

  private func renew() {
    let sentAt = Clock.monotonicNanoseconds
    let worker = name.value
    let report = report()
    var left = queues.count
    for (index, keys) in queues.enumerated() {
      let call = keys.heartbeat(of: worker, tombstoneOf: worker, report: report, seal: seals[index])
      connection.send(call) { [weak self] result in
        guard let self, worker == name.value else { return }
        guard case .success(let value) = result, let answer = HeartbeatAnswer(value) else {
          return warnOfRefusal(result, index)
        }
        take(answer, queueIndex: index)
        guard answer.state != .fenced else { return }
        left -= 1
        if left == 0 { confirm(sentAt: sentAt) }
      }
    }
  }

  /// A lost connection logs itself.
  private func warnOfRefusal(_ result: Result<RedisValue, RedisError>, _ queueIndex: Int) {
    let queue = queues[queueIndex].queue
    switch result {
    case .success: refusals.warn((queue, "not that of the script"))
    case .failure(let error): if error.isRefusal { refusals.warn((queue, "\(error)")) }
    }
  }

  private func take(_ answer: HeartbeatAnswer, queueIndex: Int) {
    seals[queueIndex] = answer.seal ?? seals[queueIndex]
    switch answer.state {
    case .renewed: onEvent?(.inflight(queueIndex: queueIndex, length: answer.inflightLength))
    case .forgotten: onEvent?(.forgotten(queueIndex: queueIndex))
    case .fenced: fence()
    }
  }

  private func confirm(sentAt: UInt64) {
    phase.confirm(sentAt: sentAt)
    roundTrip = .nanoseconds(Int64(clamping: Clock.monotonicNanoseconds &- sentAt))
    onEvent?(.confirmed)
  }

  // MARK: - Loss and end

  /// Joins again under a new name, as the jobs under the old one belong to the fleet.
  private func fence() {
    guard phase != .left else { return }
    // Operator: The worker was frozen or cut off for over 15 s. Check CPU, swap, suspended machines.
    log.warn(
      "fenced: the fleet took this worker for dead; it continues under a new name", ["worker": .init(name.value)])
    for index in queues.indices { abandon(name.value, queueIndex: index) }
    phase.fence()
    name = WorkerName()
    onEvent?(.fenced)
    renew()
  }

  /// Keeps an earlier name of this worker alive for as long as a blocked claim may still move a job into its lists.
  /// After that the reaper takes what is there.
  func abandon(_ worker: String, queueIndex: Int) {
    // No worker has an empty name: that it was taken for dead does not matter.
    let call = queues[queueIndex].heartbeat(
      of: worker, tombstoneOf: "", timeToLive: QueueLimits.blockDeadline, report: Array("{}".utf8),
      seal: seals[queueIndex])
    connection.send(call) { _ in }
  }

  /// Leaves the fleet. The reaper takes what is left in the in-flight lists, and what still arrives there if
  /// `mayStillGetJobs`.
  func leave(mayStillGetJobs: Bool) {
    timer = nil
    phase.leave()
    let worker = name.value
    for keys in queues {
      let call = QueueScripts.leave(
        heartbeat: keys.heartbeat(worker), workers: keys.workers, inflight: keys.inflight(worker),
        promoter: keys.promoter, landing: keys.landing(worker), worker: worker,
        wait: mayStillGetJobs ? QueueLimits.blockDeadline.milliseconds : 0)
      connection.send(call) { _ in }
    }
  }
}

extension QueueKeys {
  fileprivate func heartbeat(
    of worker: String, tombstoneOf dead: String, timeToLive: Duration = QueueLimits.heartbeatTimeToLive,
    report: [UInt8], seal word: String
  ) -> RedisCall {
    QueueScripts.heartbeat(
      heartbeat: heartbeat(worker), workers: workers, inflight: inflight(worker), tombstone: tombstone(dead),
      landing: landing(worker), seal: seal, worker: worker, ttl: timeToLive.milliseconds, report: report, word: word)
  }
}

import Jobs
import EventLoop
import Redis
import Telemetry

/// A connection of its own that waits in Redis for the next job of one queue or, at most once, of all queues (BRPOP). Holds
/// one permit while it waits.
///
/// Of one queue: BLMOVE brings the element to the landing list and says nothing (``RedisConnection/call(_:keys:behindSilent:timeout:arguments:_:)``);
/// the claiming script, which waits behind it on the same connection, judges it there and answers. What a crash between the
/// two leaves in the landing list is found by the reconciler or the reaper.
@EventLoop
final class BlockedClaim {
  enum Answer {
    case claimed(queueIndex: Int, ClaimAnswer)
    /// BRPOP's own.
    case popped(queueIndex: Int, element: [UInt8])
    case nothing
    /// The heartbeat has lapsed.
    case lapsed
    case fault(RedisError)
  }

  /// A job that left Redis and is too large.
  private struct Popped {
    let keys: QueueKeys
    let queueIndex: Int
    let element: [UInt8]
    let size: Int
    let completion: @EventLoop (Answer) -> Void
  }

  private let connection: RedisConnection
  private var clientID: Int64?
  /// Whether this server can be told to leave a reply out. Where it cannot, the element travels once more than it must.
  private var canSilence: Bool?
  /// A reply came that should have been left out: some proxies and other engines take the command and do nothing.
  private var isSilenceBroken = false
  private var unburied: Popped?
  private var buryTimer: LoopTimer?
  private(set) var isBlocked = false
  private var wasUnblocked = false
  /// On ``Clock/monotonicNanoseconds``.
  private var blockedSince: UInt64 = 0
  var onReady: (@EventLoop () -> Void)?

  init(endpoint: RedisEndpoint) {
    // Of an outage the worker's main connection tells, once.
    connection = RedisConnection(
      endpoint: endpoint, name: "martlet-fetch", maximumReplyBytes: QueueLimits.largestReply, log: .silent)
    connection.preload([QueueScripts.claim])
    connection.onStateChange = { [weak self] isReady in self?.connectionChanged(isReady) }
  }

  var isReady: Bool { connection.isReady && canSilence != nil }

  func start() { connection.start() }

  func close() { connection.close() }

  /// Drops the socket: no late answer can arrive any more.
  func disconnect() { connection.disconnect(reason: "a claim's answer is missing") }

  private func connectionChanged(_ isReady: Bool) {
    clientID = nil
    canSilence = nil
    guard isReady else { return }
    connection.send(RedisCommand("CLIENT", "ID")) { [weak self] result in
      guard let self, case .success(let id) = result else { return }
      self.clientID = id.integer
    }
    // Answered by those servers that know of it.
    connection.send(RedisCommand("CLIENT", "REPLY", "ON")) { [weak self] result in
      guard let self, self.connection.isReady else { return }
      if case .success = result { self.canSilence = !self.isSilenceBroken } else { self.canSilence = false }
      if let unburied = self.unburied { self.bury(unburied) }
      self.onReady?()
    }
  }

  /// Waits for a job and claims it for `worker`.
  func move(
    from keys: QueueKeys, queueIndex: Int, worker: String, noncePrefix: String,
    _ completion: @escaping @EventLoop (Answer) -> Void
  ) {
    var command = RedisCommand("BLMOVE", keys.queue, keys.landing(worker), "RIGHT", "LEFT")
    command.append(QueueLimits.blockSeconds)
    let scriptKeys = [
      keys.landing(worker), keys.inflight(worker), keys.heartbeat(worker), keys.seal, keys.dead, keys.queue,
    ]
    let arguments = { (command: inout RedisCommand) in
      command.append(1)
      command.append(noncePrefix)
    }
    let arrived: RedisConnection.Completion = { [weak self] result in
      self?.isBlocked = false
      switch result {
      case .failure(let error): completion(.fault(error))
      case .success(let value):
        if value.bytes != nil { self?.isSilenceBroken = true }
        guard let answer = ClaimAnswer(value, queue: keys.queue) else { return completion(.lapsed) }
        let isEmpty = answer.elements.isEmpty && answer.oversized.isEmpty && !answer.isStuck
        completion(isEmpty ? .nothing : .claimed(queueIndex: queueIndex, answer))
      }
    }
    begin()
    if canSilence == true {
      connection.call(
        QueueScripts.claim, keys: scriptKeys, behindSilent: command, timeout: QueueLimits.blockDeadline,
        arguments: arguments, arrived)
    } else {
      connection.send(command, timeout: QueueLimits.blockDeadline) { _ in }
      connection.call(
        QueueScripts.claim, keys: scriptKeys, timeout: QueueLimits.blockDeadline, arguments: arguments, arrived)
    }
  }

  /// Waits for a job of any of `queues`, in their order, and takes it out of Redis. One that is too large goes back, to the
  /// dead letters, before anything else happens here; `envelope` makes an element of what was popped.
  func pop(
    from queues: [QueueKeys], envelope: @escaping @EventLoop (_ popped: [UInt8], _ queueIndex: Int) -> [UInt8],
    _ completion: @escaping @EventLoop (Answer) -> Void
  ) {
    var command = RedisCommand("BRPOP")
    for keys in queues { command.append(keys.queue) }
    command.append(QueueLimits.blockSeconds)
    begin()
    connection.send(command, timeout: QueueLimits.blockDeadline) { [weak self] result in
      self?.isBlocked = false
      guard case .success(let value) = result else {
        if case .failure(let error) = result { completion(.fault(error)) }
        return
      }
      guard let pair = value.array, pair.count == 2, let name = pair[0].string, let popped = pair[1].bytes,
        let queueIndex = queues.firstIndex(where: { $0.queue == name })
      else { return completion(.nothing) }
      let element = envelope(popped, queueIndex)
      let size = popped.count <= Job.maximumBytes ? popped.count : Envelope(element: element).job.count
      guard size > Job.maximumBytes else { return completion(.popped(queueIndex: queueIndex, element: element)) }
      self?.bury(
        Popped(
          keys: queues[queueIndex], queueIndex: queueIndex, element: element, size: size, completion: completion))
    }
  }

  /// Kept and written again until Redis has taken it.
  private func bury(_ popped: Popped) {
    isBlocked = true
    unburied = popped
    // One attempt at a time: the connection may have come back before the timer.
    buryTimer = nil
    connection.call(QueueScripts.buryPopped, keys: [popped.keys.dead], timeout: QueueLimits.buryDeadline) { command in
      command.append(popped.element)
      command.append(popped.size)
    } _: { [weak self] result in
      guard let self else { return }
      switch result {
      case .success(let value):
        guard let answer = ClaimAnswer(value, queue: popped.keys.queue), !answer.isStuck else {
          return self.buryLater()
        }
        guard self.unburied != nil else { return }
        self.unburied = nil
        self.isBlocked = false
        popped.completion(.claimed(queueIndex: popped.queueIndex, answer))
      case .failure(let error): if error.isRefusal { self.buryLater() }
      }
    }
  }

  private func buryLater() {
    buryTimer = .after(QueueLimits.heartbeatInterval) { [weak self] in
      guard let self, self.connection.isReady, let unburied = self.unburied else { return }
      self.bury(unburied)
    }
  }

  /// Ends the wait through another connection; the answer is `nothing`, or the job that came first.
  func unblock(through other: RedisConnection) {
    guard isBlocked, let clientID else { return }
    wasUnblocked = true
    var command = RedisCommand("CLIENT", "UNBLOCK")
    command.append(clientID)
    other.send(command) { _ in }
  }

  private func begin() {
    isBlocked = true
    wasUnblocked = false
    blockedSince = Clock.monotonicNanoseconds
  }

  /// The last wait ended at once and nobody asked for it: Redis does not let it wait, and does not say why.
  var hasEndedEarly: Bool {
    !wasUnblocked && Clock.monotonicNanoseconds - blockedSince < UInt64(QueueLimits.faultPause.nanoseconds)
  }
}

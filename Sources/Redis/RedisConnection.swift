public import EventLoop
public import Telemetry

/// One connection to redis that comes back by itself.
///
/// Commands of one turn of the loop share one write; replies arrive in the order of the commands. It never queues: while
/// there is no connection, commands fail with ``RedisError/notSent(_:)``. A command that misses its deadline takes the
/// connection with it, since replies have no names; so blocking commands need a connection of their own.
@EventLoop
public final class RedisConnection {
  public typealias Completion = @EventLoop (Result<RedisValue, RedisError>) -> Void

  /// A connection that lived this long starts again with short waits when it is lost.
  private static let steadyNanoseconds: UInt64 = 5_000_000_000

  private enum State {
    case idle
    case connecting
    case greeting(CommandPipeline)
    case ready(CommandPipeline)
    case waiting(LoopTimer)
    case closed
  }

  /// Since when (monotonic nanoseconds) there is no connection, and the last reason why.
  private struct Outage {
    let start: UInt64
    let reason: String
    /// Redis itself said that it is of no use now, as a replica does: a connection alone is no recovery.
    let isRefusal: Bool
  }

  /// Called when it became ready (true) and when that was lost (false).
  public var onStateChange: (@EventLoop (Bool) -> Void)?
  /// How often it became ready again after the first time.
  public private(set) var reconnects = 0

  private let endpoint: RedisEndpoint
  private let name: String
  private let timeoutNanoseconds: UInt64
  private let maximumReplyBytes: Int
  private let log: Log
  private let connector = Connector()
  private var state = State.idle
  private var scripts: [RedisScript] = []
  private var waiters: [ReadinessWaiter] = []
  private var backoff = Backoff()
  private var generator = SystemRandomNumberGenerator()
  private var readySince: UInt64?
  private var outage: Outage?
  private var recoveryTimer: LoopTimer?
  private var wasEverReady = false

  /// A longer reply ends the connection.
  public static let maximumReplyBytes = ReplyReader.maximumBytes

  /// Does not connect. `name` is for CLIENT LIST; `timeout` is for commands that bring none of their own.
  public init(
    endpoint: RedisEndpoint, name: String, timeout: Duration = .seconds(5),
    maximumReplyBytes: Int = RedisConnection.maximumReplyBytes, log: Log
  ) {
    self.endpoint = endpoint
    self.name = name
    self.log = log
    self.maximumReplyBytes = maximumReplyBytes
    timeoutNanoseconds = UInt64(max(0, timeout.nanoseconds))
  }

  isolated deinit {
    close()
  }

  /// Connected, authenticated, database selected, and redis said PONG.
  public var isReady: Bool {
    if case .ready = state { true } else { false }
  }

  /// Connects, and goes on reconnecting until ``close()``.
  public func start() {
    guard case .idle = state else { return }
    connect()
  }

  /// For good. Pending commands fail: ``RedisError/outcomeUnknown(_:)`` when written, else ``RedisError/notSent(_:)``.
  public func close() {
    guard !isClosed else { return }
    let pipeline = currentPipeline
    let wasReady = isReady
    state = .closed
    pipeline?.end("the connection to redis was closed")
    if wasReady { onStateChange?(false) }
    settleWaiters(.failure(.notSent("the connection to redis was closed")))
  }

  /// Drops the socket and connects again; pending commands fail as in ``close()``.
  public func disconnect(reason: StaticString) {
    guard let pipeline = currentPipeline else { return }
    pipeline.end("\(reason)")
    lost(pipeline, "\(reason)")
  }

  /// Sends `command`. An error reply arrives as ``RedisError/reply(_:)``. `completion` is called once, never before this
  /// returns.
  public func send(_ command: RedisCommand, timeout: Duration? = nil, _ completion: @escaping Completion) {
    send(command, behind: [], timeout: timeout, completion)
  }

  /// `silent` commands go before it in the same write; redis must not answer them.
  func send(
    _ command: RedisCommand, behind silent: [RedisCommand], timeout: Duration?, _ completion: @escaping Completion
  ) {
    guard case .ready(let pipeline) = state else {
      let reason = outage?.reason
      return EventLoop.atEndOfTurn {
        completion(.failure(.notSent(reason.map { "not connected to redis: \($0)" } ?? "not connected to redis")))
      }
    }
    let nanoseconds = timeout.map { UInt64(max(0, $0.nanoseconds)) } ?? timeoutNanoseconds
    pipeline.send(command, behind: silent, deadline: Clock.monotonicNanoseconds &+ nanoseconds, completion)
  }

  /// Remembers scripts and loads them on every connection before it is called ready; now, too, when it is.
  public func preload(_ scripts: [RedisScript]) {
    for script in scripts where !self.scripts.contains(where: { $0.sha1 == script.sha1 }) {
      self.scripts.append(script)
      // Not loaded is not lost: the first call falls back to EVAL.
      if isReady { send(RedisCommand("SCRIPT", "LOAD", script.source)) { _ in } }
    }
  }
}

extension RedisConnection {
  private var isClosed: Bool {
    if case .closed = state { true } else { false }
  }

  private var currentPipeline: CommandPipeline? {
    switch state {
    case .greeting(let pipeline), .ready(let pipeline): pipeline
    default: nil
    }
  }

  private func connect() {
    state = .connecting
    connector.connect(to: endpoint) { [weak self] result in self?.connected(result) }
  }

  private func connected(_ result: Result<Transport, RedisError>) {
    guard case .connecting = state else { return }
    switch result {
    case .failure(let error): retryLater(error.description)
    case .success(let transport):
      guard let pipeline = CommandPipeline(transport, maximumReplyBytes: maximumReplyBytes) else {
        return retryLater("out of descriptors or memory")
      }
      greet(pipeline)
    }
  }

  private func greet(_ pipeline: CommandPipeline) {
    state = .greeting(pipeline)
    pipeline.onLost = { [weak self, unowned pipeline] reason in self?.lost(pipeline, reason) }
    var greeting = Greeting(to: endpoint, name: name, scripts: scripts)
    let deadline = Clock.monotonicNanoseconds &+ UInt64(Connector.timeout.nanoseconds)
    for (_, command) in greeting.steps {
      pipeline.send(command, deadline: deadline) { [weak self, weak pipeline] answer in
        guard let self, let pipeline, case .greeting(let current) = state, current === pipeline else { return }
        switch greeting.receive(answer) {
        case .more: break
        case .ready: becomeReady(pipeline)
        case .refused(let reason):
          // The pipeline's own end is told by `onLost`, with the same reason.
          guard pipeline.isOpen else { return }
          pipeline.end(reason)
          lost(pipeline, reason)
        }
      }
    }
  }

  private func becomeReady(_ pipeline: CommandPipeline) {
    state = .ready(pipeline)
    pipeline.onErrorReply = { [weak self, weak pipeline] error in
      guard let self, let pipeline, error.asksForReconnect else { return }
      // What else came with this answer is still delivered.
      EventLoop.atEndOfTurn { [weak self] in
        guard let self, currentPipeline === pipeline else { return }
        pipeline.end(error.message)
        lost(pipeline, error.message, isRefusal: true)
      }
    }
    let now = Clock.monotonicNanoseconds
    readySince = now
    if wasEverReady { reconnects += 1 }
    wasEverReady = true
    if outage?.isRefusal == true {
      let steady = Duration.nanoseconds(Int64(RedisConnection.steadyNanoseconds))
      recoveryTimer = .after(steady) { [weak self] in self?.recovered() }
    } else {
      recovered()
    }
    onStateChange?(true)
    settleWaiters(.success(()))
  }

  private func recovered() {
    if let outage {
      let milliseconds = (Clock.monotonicNanoseconds - outage.start) / 1_000_000
      log.info(
        "connected to redis again",
        ["server": .init(endpoint.summary), "outageMilliseconds": .init(milliseconds)])
    } else {
      log.debug("connected to redis", ["server": .init(endpoint.summary)])
    }
    outage = nil
  }

  private func lost(_ pipeline: CommandPipeline, _ reason: String, isRefusal: Bool = false) {
    guard currentPipeline === pipeline else { return }
    let wasReady = isReady
    if let readySince, Clock.monotonicNanoseconds - readySince > RedisConnection.steadyNanoseconds { backoff.reset() }
    readySince = nil
    recoveryTimer = nil
    retryLater(reason, isRefusal: isRefusal)
    if wasReady { onStateChange?(false) }
  }

  /// One line per outage, not one per attempt.
  private func retryLater(_ reason: String, isRefusal: Bool = false) {
    if outage == nil {
      log.warn(
        "redis is not reachable; trying again until it is",
        ["server": .init(endpoint.summary), "reason": .init(reason)])
    }
    outage = Outage(
      start: outage?.start ?? Clock.monotonicNanoseconds, reason: reason,
      isRefusal: isRefusal || outage?.isRefusal == true)
    let delay = backoff.next(using: &generator)
    state = .waiting(
      LoopTimer.after(delay) { [weak self] in
        guard let self, case .waiting = state else { return }
        connect()
      })
  }
}

extension RedisConnection {
  /// Waits until it is ready; throws ``RedisError/notSent(_:)`` with the last reason why it is not, and what to look at.
  public func ready(within: Duration) async throws(RedisError) {
    if isReady { return }
    if isClosed { throw .notSent("the connection to redis was closed") }
    let result = await withCheckedContinuation { continuation in
      waiters.removeAll(where: \.isSettled)
      waiters.append(
        ReadinessWaiter(continuation, within: within) { [weak self] in
          self?.unreachable(within) ?? .notSent("the connection to redis was closed")
        })
    }
    try result.get()
  }

  private func settleWaiters(_ result: Result<Void, RedisError>) {
    let settled = waiters
    waiters = []
    for waiter in settled { waiter.settle(result) }
  }

  private func unreachable(_ within: Duration) -> RedisError {
    .notSent(
      "redis at \(endpoint.summary) was not ready within \(within): \(outage?.reason ?? "no answer yet"); "
        + "check REDIS_URL and that the server runs")
  }
}

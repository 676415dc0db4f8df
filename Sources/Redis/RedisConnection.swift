public import EventLoop
public import Telemetry

/// A connection to Redis that reconnects by itself.
///
/// The commands of one turn of the loop share one write; replies arrive in the order of the commands. Commands are not
/// queued: without a connection they fail with ``RedisError/notSent(_:)``. If a command misses its deadline the
/// connection is closed, because replies carry no identifiers. Blocking commands therefore need a connection of their
/// own.
@EventLoop
public final class RedisConnection {
  public typealias Completion = @EventLoop (Result<RedisValue, RedisError>) -> Void

  /// After a connection has lasted this long, delays between attempts start at the base again.
  private static let steady = Duration.seconds(5)

  private enum State {
    case idle
    case connecting
    case greeting(CommandPipeline)
    /// `since` is on ``Clock/monotonicNanoseconds``.
    case ready(CommandPipeline, since: UInt64)
    /// Waits before the next attempt.
    case waiting(LoopTimer)
    case closed
  }

  struct Outage {
    /// On ``Clock/monotonicNanoseconds``.
    let start: UInt64
    /// Why the last attempt failed.
    let reason: String
    /// Whether Redis replied that it cannot be used now, as a replica does: a new connection alone does not end the
    /// outage.
    let isRefusal: Bool
  }

  /// While a password is refused, the next attempt comes as soon as after this many others.
  private static let quickAttempts = 2
  private static let backoff = Backoff(base: .milliseconds(100), cap: .seconds(5))

  /// Called with true when the connection becomes ready and with false when it is lost.
  public var onStateChange: (@EventLoop (Bool) -> Void)?
  /// How often the connection became ready after the first time.
  public private(set) var reconnects = 0

  /// Counts what Redis refuses on this connection.
  public var instruments: RedisInstruments?

  let endpoint: RedisEndpoint
  /// In a cluster: connects to the primary of this hash slot, and to its successor when the slot has moved.
  private let slot: Int?
  private let name: String
  private let timeoutNanoseconds: UInt64
  private let maximumReplyBytes: Int
  private let log: Log
  private let connector = Connector()
  private var state = State.idle
  private var scripts: [RedisScript] = []
  let waiters = ReadinessWaiters()
  /// Attempts since a connection last lasted.
  private var attempts = 0
  private(set) var outage: Outage?
  private var reasons = ToldReasons()
  private var recoveryTimer: LoopTimer?
  private var wasEverReady = false

  /// A longer reply is dropped, and its command fails with ``RedisError/replyTooLarge(_:)``.
  public static let maximumReplyBytes = ReplyReader.maximumBytes

  /// Does not connect. `name` appears in CLIENT LIST; `timeout` applies to commands that are sent without one. Of a
  /// cluster the connection reaches the server of `key`, wherever that is.
  public init(
    endpoint: RedisEndpoint, key: String = "", name: String, timeout: Duration = .seconds(5),
    maximumReplyBytes: Int = RedisConnection.maximumReplyBytes, log: Log
  ) {
    self.endpoint = endpoint
    slot = endpoint.isCluster ? HashSlot.of(key) : nil
    self.name = name
    self.log = log
    self.maximumReplyBytes = maximumReplyBytes
    timeoutNanoseconds = timeout.unsignedNanoseconds
  }

  isolated deinit {
    close()
  }

  /// Whether the connection is authenticated and usable.
  public var isReady: Bool {
    if case .ready = state { true } else { false }
  }

  /// Why the last attempt failed; nil if it did not.
  var failure: String? { outage?.reason }

  /// Connects, and reconnects until ``close()``.
  public func start() {
    guard case .idle = state else { return }
    connect()
  }

  /// Closes the connection permanently. Pending commands fail: ``RedisError/outcomeUnknown(_:)`` when written, else ``RedisError/notSent(_:)``.
  public func close() {
    guard !isClosed else { return }
    let pipeline = currentPipeline
    let wasReady = isReady
    state = .closed
    pipeline?.end("the connection to redis was closed")
    if wasReady { onStateChange?(false) }
    waiters.resume(.failure(.notSent("the connection to redis was closed")))
  }

  /// Closes the socket and connects again; pending commands fail as in ``close()``.
  public func disconnect(reason: StaticString) {
    guard let pipeline = currentPipeline else { return }
    pipeline.end("\(reason)")
    lost(pipeline, "\(reason)")
  }

  /// Sends `command`. An error reply is a failure with ``RedisError/reply(_:)``. Calls `completion` exactly once, after
  /// this function has returned.
  public func send(_ command: RedisCommand, timeout: Duration? = nil, _ completion: @escaping Completion) {
    send(command, behind: [], timeout: timeout, completion)
  }

  /// Sends `silent` commands, which Redis must not reply to, and then `command` in the same write.
  func send(
    _ command: RedisCommand, behind silent: [RedisCommand], timeout: Duration?, _ completion: @escaping Completion
  ) {
    guard case .ready(let pipeline, _) = state else {
      let reason = outage?.reason
      return EventLoop.atEndOfTurn {
        completion(.failure(.notSent(reason.map { "not connected to redis: \($0)" } ?? "not connected to redis")))
      }
    }
    let nanoseconds = timeout.map { $0.unsignedNanoseconds } ?? timeoutNanoseconds
    pipeline.send(command, behind: silent, deadline: Clock.monotonicNanoseconds &+ nanoseconds, completion)
  }

  /// Loads scripts on every connection before it becomes ready, and now if it is ready.
  public func preload(_ scripts: [RedisScript]) {
    for script in scripts where !self.scripts.contains(where: { $0.sha1 == script.sha1 }) {
      self.scripts.append(script)
      // If this fails, the first call falls back to EVAL.
      if isReady { send(RedisCommand("SCRIPT", "LOAD", script.source)) { _ in } }
    }
  }
}

extension RedisConnection {
  var isClosed: Bool {
    if case .closed = state { true } else { false }
  }

  private var currentPipeline: CommandPipeline? {
    switch state {
    case .greeting(let pipeline), .ready(let pipeline, _): pipeline
    default: nil
    }
  }

  private func connect() {
    state = .connecting
    connector.connect(to: endpoint, slot: slot) { [weak self] result in self?.connected(result) }
  }

  private func connected(_ result: Result<Connector.Opened, RedisError>) {
    guard case .connecting = state else { return }
    switch result {
    case .failure(let error): retryLater(error.description)
    case .success(let opened):
      guard let pipeline = CommandPipeline(opened.transport, maximumReplyBytes: maximumReplyBytes) else {
        return retryLater("out of descriptors or memory")
      }
      greet(pipeline, as: opened.endpoint)
    }
  }

  private func greet(_ pipeline: CommandPipeline, as endpoint: RedisEndpoint) {
    state = .greeting(pipeline)
    pipeline.onLost = { [weak self, unowned pipeline] reason in self?.lost(pipeline, reason) }
    var greeting = Greeting(to: endpoint, name: name, scripts: scripts)
    let deadline = Clock.monotonicNanoseconds &+ Connector.timeout.unsignedNanoseconds
    for (_, command) in greeting.steps {
      pipeline.send(command, deadline: deadline) { [weak self, weak pipeline] answer in
        guard let self, let pipeline, case .greeting(let current) = state, current === pipeline else { return }
        switch greeting.receive(answer) {
        case .more: break
        case .ready: becomeReady(pipeline)
        case .refused(let reason, let isOfPassword):
          // If the pipeline ended by itself, `onLost` reports it.
          guard pipeline.isOpen else { return }
          // The next attempt reads the password again.
          if isOfPassword { attempts = min(attempts, RedisConnection.quickAttempts) }
          pipeline.end(reason)
          lost(pipeline, reason)
        }
      }
    }
  }

  private func becomeReady(_ pipeline: CommandPipeline) {
    state = .ready(pipeline, since: Clock.monotonicNanoseconds)
    pipeline.onErrorReply = { [weak self, weak pipeline] error in
      guard let self, let pipeline else { return }
      instruments?.record(error)
      guard error.asksForReconnect || slot != nil && error.isOfMovedSlot else { return }
      // Replies that came together with this one are delivered first.
      EventLoop.atEndOfTurn { [weak self] in
        guard let self, currentPipeline === pipeline else { return }
        pipeline.end(error.message)
        lost(pipeline, error.message, isRefusal: true)
      }
    }
    if wasEverReady { reconnects += 1 }
    wasEverReady = true
    if outage?.isRefusal == true {
      recoveryTimer = .after(RedisConnection.steady) { [weak self] in self?.recovered() }
    } else {
      recovered()
    }
    onStateChange?(true)
    waiters.resume(.success(()))
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
    reasons = ToldReasons()
  }

  private func lost(_ pipeline: CommandPipeline, _ reason: String, isRefusal: Bool = false) {
    guard currentPipeline === pipeline else { return }
    let wasReady = isReady
    let steady = RedisConnection.steady.unsignedNanoseconds
    if case .ready(_, let since) = state, Clock.monotonicNanoseconds - since > steady { attempts = 0 }
    recoveryTimer = nil
    retryLater(reason, isRefusal: isRefusal)
    if wasReady { onStateChange?(false) }
  }

  /// Schedules the next attempt. Logs a line for each reason, not one for each attempt.
  private func retryLater(_ reason: String, isRefusal: Bool = false) {
    if reasons.tells(reason, at: Clock.monotonicNanoseconds) {
      // Operator: See `reason`; it is told again when it changes, and every 5 minutes. Start Redis, or correct the
      // settings of its TLS, or the file of `REDIS_URL_FILE`. `connected to redis again` ends it.
      log.warn(
        "redis is not reachable; trying again until it is",
        ["server": .init(endpoint.summary), "reason": .init(reason)])
    }
    let start = outage?.start ?? Clock.monotonicNanoseconds
    outage = Outage(start: start, reason: reason, isRefusal: isRefusal || outage?.isRefusal == true)
    attempts += 1
    let delay = RedisConnection.backoff.delay(attempt: attempts, random: .random(in: 0...1))
    state = .waiting(
      LoopTimer.after(delay) { [weak self] in
        guard let self, case .waiting = state else { return }
        connect()
      })
  }
}

extension RedisConnection {
  /// Calls a script by its digest.
  ///
  /// If Redis does not know the script (NOSCRIPT), its source is sent once; then it runs after commands that were sent
  /// after it. ``preload(_:)`` makes that rare.
  public func send(_ call: RedisCall, timeout: Duration? = nil, _ completion: @escaping Completion) {
    run(call.command, of: call.script, timeout: timeout, completion)
  }

  /// Sends `command` without a reply, by `CLIENT REPLY SKIP`, and then `call` in the same write.
  ///
  /// The reply of the script arrives after both have finished, however long `command` blocks.
  public func send(
    _ call: RedisCall, behindSilent command: RedisCommand, timeout: Duration? = nil, _ completion: @escaping Completion
  ) {
    let silent = [RedisCommand("CLIENT", "REPLY", "SKIP"), command]
    run(call.command, behind: silent, of: call.script, timeout: timeout, completion)
  }

  func run(
    _ command: RedisCommand, behind silent: [RedisCommand] = [], of script: RedisScript, timeout: Duration?,
    _ completion: @escaping Completion
  ) {
    send(command, behind: silent, timeout: timeout) { [weak self] result in
      guard let self, case .failure(.reply(let error)) = result, error.code == "NOSCRIPT" else {
        return completion(result)
      }
      send(command.evaluating(script.source), timeout: timeout, completion)
    }
  }
}

extension RedisConnection {
  /// Waits until the connection is ready.
  ///
  /// Throws ``RedisError/notSent(_:)`` with the reason of the last failed attempt if `within` passes first.
  public func ready(within: Duration) async throws(RedisError) {
    if isReady { return }
    if isClosed { throw .notSent("the connection to redis was closed") }
    try await waiters.wait(within) { [weak self] in
      self?.unreachable(within) ?? .notSent("the connection to redis was closed")
    }
  }

  private func unreachable(_ within: Duration) -> RedisError {
    .notSent(
      "redis at \(endpoint.summary) was not ready within \(within): \(outage?.reason ?? "no answer yet"); "
        + "check REDIS_URL and that the server runs")
  }
}

/// The tasks that wait until a connection is ready.
@EventLoop
final class ReadinessWaiters {
  private var waiters: [ReadinessWaiter] = []

  /// Waits for ``resume(_:)``. Throws the error of `onTimeout` if `within` passes first.
  func wait(_ within: Duration, onTimeout: @escaping @EventLoop () -> RedisError) async throws(RedisError) {
    let result = await withCheckedContinuation { continuation in
      waiters.removeAll(where: \.isDone)
      waiters.append(ReadinessWaiter(continuation, within: within, onTimeout: onTimeout))
    }
    try result.get()
  }

  /// Ends all waits.
  func resume(_ result: Result<Void, RedisError>) {
    let resumed = waiters
    waiters = []
    for waiter in resumed { waiter.resume(result) }
  }
}

/// A task that waits until a connection is ready, for a limited time.
@EventLoop
private final class ReadinessWaiter {
  private var continuation: CheckedContinuation<Result<Void, RedisError>, Never>?
  private var timer: LoopTimer?

  init(
    _ continuation: CheckedContinuation<Result<Void, RedisError>, Never>, within: Duration,
    onTimeout: @escaping @EventLoop () -> RedisError
  ) {
    self.continuation = continuation
    timer = LoopTimer.after(within) { [weak self] in self?.resume(.failure(onTimeout())) }
  }

  var isDone: Bool { continuation == nil }

  func resume(_ result: Result<Void, RedisError>) {
    timer = nil
    continuation.take()?.resume(returning: result)
  }
}

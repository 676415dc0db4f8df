public import PushModel
public import EventLoop
public import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// Sends pushes to APNs over HTTP/2.
///
/// It keeps the connections, the provider token and the deadlines. It sends a push again by itself only when APNs has
/// certainly not processed it. Once used it lives until ``close()``.
@EventLoop
public final class APNsClient {
  /// A connection has become ready or lost, or a route was paused or resumed.
  public var onStateChange: (@EventLoop () -> Void)?

  let configuration: APNsConfiguration
  let log: Log
  let token: ProviderToken
  let routes = RouteTable()
  let instruments: ClientInstruments
  let refusals: RefusalLog
  private let requestNanoseconds: UInt64
  private var pools = EnvironmentPools()
  private var ticker: LoopTimer?
  private var isShutDown = false
  private var wasConnected = false

  /// Opens nothing yet. Its metrics are named `martlet_apns_…`.
  public init(configuration: APNsConfiguration, metrics: Metrics, log: Log) {
    // A peer that closes must be an error of the write, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    self.configuration = configuration
    self.log = log
    requestNanoseconds = configuration.limits.requestTimeout.unsigned
    token = ProviderToken(key: configuration.key, log: log)
    refusals = RefusalLog(log: log)
    instruments = ClientInstruments(metrics: metrics)
    observe(metrics)
  }

  /// Opens the connections of the default environment; the others open with their first push.
  public func start() {
    pool(configuration.defaultEnvironment)?.open()
  }

  /// Queues the push. Its completion is called exactly once, in a later turn of the loop.
  public func send(_ push: Push) {
    precondition(push.sentAt == 0, "a push is sent once")
    let now = Clock.monotonicNanoseconds
    push.sentAt = now
    instruments.pending += 1
    push.deadline = now + requestNanoseconds
    guard !isShutDown else { return finishLater(push, .notProcessed("ShuttingDown")) }
    if let refusal = push.localRefusal {
      refusals.note(push, refusal, now: now)
      return finishLater(push, .answered(refusal))
    }
    push.route = routes.route(push.environment, push.topic)
    if let refusal = refusalByRoute(push, now: now) { return finishLater(push, refusal) }
    guard let pool = pool(push.environment) else { return finishLater(push, .notProcessed("NoConnection")) }
    pool.send(push)
  }

  /// Pushes waiting for a connection or a free stream.
  public var queued: Int { pools.all.reduce(0) { $0 + $1.queued } }

  /// Pushes on a connection.
  public var inFlight: Int { pools.all.reduce(0) { $0 + $1.inFlight } }

  /// Whether any environment has a connection that takes pushes.
  public var isConnected: Bool { pools.all.contains { $0.isConnected } }

  /// The same of the environments that are used: the default one, and those that were sent to.
  public var isServing: Bool { pools.all.contains { $0.isConnected && !$0.isStandby } }

  /// Whether the environment has a connection that takes pushes.
  public func isConnected(_ environment: PushEnvironment) -> Bool {
    pools[poolKey(environment)]?.isConnected == true
  }

  /// No more pushes are taken and queued ones end as not processed; those on a connection may still be answered:
  /// wait for ``inFlight`` to become 0 as long as the grace allows, then ``close()``.
  public func shutdown() {
    guard !isShutDown else { return }
    isShutDown = true
    for pool in pools.all { pool.shutdown() }
  }

  /// Ends at once; what was written and not answered ends as uncertain.
  public func close() {
    shutdown()
    for pool in pools.all { pool.close() }
    ticker = nil
    // A completion may call this, with outcomes of the same turn still to be reported.
    EventLoop.run { withExtendedLifetime(self) {} }
  }

  /// Sends the push that `makePush` makes with the completion it is given, and waits for its outcome.
  public func outcome(
    of makePush: (_ completion: @escaping @EventLoop (PushAnswer) -> Void) -> Push
  ) async -> PushAnswer {
    await withCheckedContinuation { continuation in
      send(makePush { continuation.resume(returning: $0) })
    }
  }

  /// Reports the outcome, in this turn. Never called from within `send`.
  func finish(_ push: Push, _ outcome: PushAnswer, now: UInt64) {
    precondition(!push.isFinished, "a push ended twice")
    push.isFinished = true
    instruments.record(outcome, nanoseconds: now - push.sentAt)
    push.completion(outcome)
  }

  func finishLater(_ push: Push, _ outcome: PushAnswer) {
    EventLoop.run { self.finish(push, outcome, now: Clock.monotonicNanoseconds) }
  }

  func stateMayHaveChanged() {
    guard isConnected != wasConnected else { return }
    wasConnected.toggle()
    announceStateChange()
  }

  func announceStateChange() {
    onStateChange?()
  }

  private func tick() {
    let now = Clock.monotonicNanoseconds
    for pool in pools.all { pool.tick(now: now) }
    refusals.tick(now: now)
    standBy(now: now)
  }

  /// While the default gateway is out of reach others may not be: jobs for them must not wait for it.
  private func standBy(now: UInt64) {
    guard !isShutDown, pools[configuration.defaultEnvironment]?.isDown(now: now) == true else { return }
    for environment in PushEnvironment.allCases where pools[poolKey(environment)] == nil {
      _ = pool(environment, isStandby: true)
    }
  }

  /// With an endpoint override both environments go there, through one pool.
  private func poolKey(_ environment: PushEnvironment) -> PushEnvironment {
    configuration.hasOneGateway ? configuration.defaultEnvironment : environment
  }

  private func pool(_ environment: PushEnvironment, isStandby: Bool = false) -> ConnectionPool? {
    let key = poolKey(environment)
    if let pool = pools[key] { return pool }
    if ticker == nil { ticker = .every(configuration.limits.tick) { self.tick() } }
    do throws(APNsError) {
      let pool = ConnectionPool(
        origin: try configuration.origin(of: key), configuration: configuration, token: token, client: self, log: log,
        isStandby: isStandby)
      pools[key] = pool
      pool.open()
      return pool
    } catch {
      log.error("APNs endpoint is unusable", ["error": .init(error.description)])
      return nil
    }
  }
}

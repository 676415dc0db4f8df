public import PushModel
public import EventLoop
public import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// Sends pushes to APNs over HTTP/2.
///
/// Manages connections, the provider token and deadlines. Sends a push again only if APNs has certainly not processed
/// it. Once used, a client lives until ``close()``.
@EventLoop
public final class APNsClient {
  /// Called when a connection becomes ready or is lost, and when a route is paused or resumed.
  public var onStateChange: (@EventLoop () -> Void)?

  /// Called when a route was paused or resumed.
  public var onRouteChange: (@EventLoop (RouteChange) -> Void)?

  /// Whether pushes may be written at present. While it is false, pushes that are not written yet end as not processed:
  /// they may belong to another worker.
  public var mayWrite: (@EventLoop () -> Bool)?

  let configuration: APNsConfiguration
  let log: Log
  let keys: ProviderKeyRing
  let routes = RouteTable()
  let instruments: ClientInstruments
  let refusals: RefusalLog
  let ends: ConnectionEnds
  /// Whether connections without pushes are closed after a while, and the other gateway is not opened during an outage.
  let opensOnDemand: Bool
  /// Called before another connection is opened on demand.
  var onOpen: (@EventLoop () -> Void)?
  /// Takes over the pushes that were not sent when this client was replaced. Nil unless it was.
  private var successor: (@EventLoop (Push) -> Bool)?
  private let requestNanoseconds: UInt64
  /// When bundle ids were last added; on CLOCK_MONOTONIC, nanoseconds.
  private(set) var topicsAddedAt: UInt64 = 0
  var pools = EnvironmentPools()
  /// Those of broadcasts, while another origin than the gateways takes them. They say nothing about the gateways.
  var broadcastPools = EnvironmentPools()
  var ticker: LoopTimer?
  private(set) var isShutDown = false
  private var wasConnected = false
  private var wasServing = false

  /// Opens no connection yet. Registers metrics named `martlet_apns_…`.
  public convenience init(configuration: APNsConfiguration, metrics: Metrics, log: Log) {
    self.init(configuration: configuration, ClientParts(metrics: metrics, log: log))
    ClientGauges.register(metrics) { [weak self] in self.map { [$0] } ?? [] }
  }

  /// `parts` are shared by the clients of a process. With `opensOnDemand` it has only the connections that pushes need.
  init(configuration: APNsConfiguration, _ parts: ClientParts, opensOnDemand: Bool = false) {
    // Writing to a closed connection must fail, not end the process.
    signal(SIGPIPE, SIG_IGN)
    self.configuration = configuration
    self.opensOnDemand = opensOnDemand
    log = parts.log
    instruments = parts.instruments
    refusals = parts.refusals
    ends = parts.ends
    requestNanoseconds = configuration.limits.requestTimeout.unsignedNanoseconds
    keys = ProviderKeyRing(keys: configuration.keys, limits: configuration.limits, log: log)
  }

  /// Opens the connections of the default environment; the others open with their first push.
  public func start() {
    pool(configuration.defaultEnvironment).open()
  }

  /// Whether an accepted push tells to which environment its token belongs.
  public var knowsEnvironments: Bool { configuration.knowsEnvironments }

  /// Queues the push. Calls its completion exactly once, in a later turn of the loop.
  public func send(_ push: Push) {
    precondition(push.sentAt == 0, "a push is sent once")
    let now = Clock.monotonicNanoseconds
    push.sentAt = now
    instruments.pending += 1
    push.deadline = now + requestNanoseconds
    guard !isShutDown else { return leave(push, .notProcessed("ShuttingDown")) }
    if let refusal = push.localRefusal {
      refusals.record(push, refusal)
      return finishLater(push, .answered(refusal))
    }
    enqueue(push, now: now)
  }

  private func enqueue(_ push: Push, now: UInt64) {
    let environment = push.shared.environment
    push.route = routes.route(environment, push.shared.topic)
    if let refusal = refusalByRoute(push, now: now) { return finishLater(push, refusal) }
    (push.shared.isBroadcast ? broadcastPool(environment) : pool(environment)).send(push)
  }

  /// Takes over a push that a client with the same ``instruments`` has not sent.
  func adopt(_ push: Push) {
    guard !isShutDown else { return leave(push, .notProcessed("ShuttingDown")) }
    push.isProbe = false
    push.tokenResends = 0
    enqueue(push, now: Clock.monotonicNanoseconds)
  }

  /// Pushes waiting for a connection or a free stream.
  public var queued: Int { allPools.reduce(0) { $0 + $1.queued } }

  /// Pushes that wait for flow control or a free stream.
  var heldBack: Int { allPools.reduce(0) { $0 + $1.heldBack } }

  /// Pushes on a connection.
  public var inFlight: Int { allPools.reduce(0) { $0 + $1.inFlight } }

  /// Whether a connection of any environment takes pushes.
  public var isConnected: Bool { pools.all.contains { $0.isConnected } }

  /// Whether a connection takes pushes, considering only the default environment and those that pushes were sent to.
  public var isServing: Bool { pools.all.contains { $0.isConnected && !$0.isStandby } }

  /// How long the environment's gateway has been out of reach or paused; zero if it takes pushes.
  public func outage(of environment: PushEnvironment) -> Duration {
    guard let since = pools[poolKey(environment)]?.unavailableSince else { return .zero }
    let now = Clock.monotonicNanoseconds
    return .nanoseconds(Int64(clamping: now > since ? now - since : 0))
  }

  /// The number of connections that take pushes, for the default environment and those that pushes were sent to.
  var openConnections: [(environment: PushEnvironment, count: Int)] {
    PushEnvironment.allCases.compactMap { environment in
      guard let pool = pools[environment], !pool.isStandby else { return nil }
      return (environment, pool.openConnections)
    }
  }

  /// Takes no more pushes and ends queued ones as not processed. Pushes on a connection may still be answered: wait for
  /// ``inFlight`` to become 0, then call ``close()``.
  public func shutdown() {
    guard !isShutDown else { return }
    isShutDown = true
    for pool in allPools { pool.shutdown() }
  }

  /// Shuts down and gives the pushes that were certainly not processed, now and later, to `successor`, unless it returns false.
  func replace(with successor: @escaping @EventLoop (Push) -> Bool) {
    self.successor = successor
    shutdown()
  }

  /// Whether another client has taken the place of this one.
  var isReplaced: Bool { successor != nil }

  /// Gives a push that was not processed to the successor. Ends it with `outcome` if there is none.
  func leave(_ push: Push, _ outcome: SendOutcome) {
    if successor?(push) != true { finishLater(push, outcome) }
  }

  /// The key that signs has changed: pushes go out on new connections.
  func renewConnections() {
    for pool in allPools { pool.renewConnections() }
  }

  /// Bundle ids were added: pushes go out on new connections, as APNs ties one to those that the team had at its first push.
  func topicsAdded() {
    topicsAddedAt = Clock.monotonicNanoseconds
    for pool in allPools { pool.replaceConnections(openedBefore: topicsAddedAt, .topicsAdded) }
  }

  /// Closes all connections at once. Pushes that were written but not answered end as uncertain.
  public func close() {
    shutdown()
    for pool in allPools { pool.close() }
    ticker = nil
    // A completion may call this while outcomes of the same turn are still to be reported.
    EventLoop.run { withExtendedLifetime(self) {} }
  }

  /// Reports the outcome in this turn. Not to be called within `send`.
  func finish(_ push: Push, _ outcome: SendOutcome, now: UInt64) {
    precondition(!push.isFinished, "a push was finished twice")
    push.isFinished = true
    // A completion may have submitted this push after `now` was taken.
    instruments.record(outcome, nanoseconds: now > push.sentAt ? now - push.sentAt : 0)
    push.ended(outcome)
  }

  func finishLater(_ push: Push, _ outcome: SendOutcome) {
    EventLoop.run { self.finish(push, outcome, now: Clock.monotonicNanoseconds) }
  }

  func stateMayHaveChanged() {
    let (connected, serving) = (isConnected, isServing)
    guard connected != wasConnected || serving != wasServing else { return }
    (wasConnected, wasServing) = (connected, serving)
    announceStateChange()
  }

  func announceStateChange() {
    onStateChange?()
  }
}

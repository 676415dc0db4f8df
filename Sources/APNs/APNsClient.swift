public import EventLoop
public import PushModel
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
    // What it proves was said of the other client.
    push.evidence = TokenEvidence(ofEnvironment: false, ofTopic: push.evidence.ofTopic)
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

// The connections of a client.
extension APNsClient {
  /// The pools of the gateways and those of broadcasts.
  var allPools: [ConnectionPool] { broadcastPools.isEmpty ? pools.all : pools.all + broadcastPools.all }

  private func tick() {
    let now = Clock.monotonicNanoseconds
    for pool in allPools { pool.tick(now: now) }
    refusals.tick()
    if keys.retryIfDue(now: now) { renewConnections() }
    closeIdle(opensOnDemand ? allPools : broadcastPools.all, now: now)
    if !opensOnDemand { standBy(now: now) }
  }

  private func closeIdle(_ pools: [ConnectionPool], now: UInt64) {
    for pool in pools where pool.isIdle(for: configuration.limits.idleBeforeClose, now: now) { close(pool) }
  }

  /// Closes the connections of a pool without pushes. The next push opens others.
  func close(_ pool: ConnectionPool) {
    pools.remove(pool)
    broadcastPools.remove(pool)
    pool.shutdown()
    pool.close()
    // Its connections may still be called in this turn.
    EventLoop.run { withExtendedLifetime(pool) {} }
    if pools.isEmpty, broadcastPools.isEmpty { ticker = nil }
    stateMayHaveChanged()
  }

  /// Opens the gateway of `origin` to find out whether it can be reached.
  func standBy(at origin: String) {
    for environment in configuration.environments
    where pools[poolKey(environment)] == nil && configuration.origin(of: environment).url == origin {
      _ = pool(environment, isStandby: true)
    }
  }

  /// Opens the other gateways while the default one cannot be reached: jobs for them must not wait for it.
  private func standBy(now: UInt64) {
    guard !isShutDown, pools[configuration.defaultEnvironment]?.isDown(now: now) == true else { return }
    for environment in PushEnvironment.allCases where pools[poolKey(environment)] == nil {
      _ = pool(environment, isStandby: true)
    }
  }

  /// With an endpoint override both environments share one pool.
  func poolKey(_ environment: PushEnvironment) -> PushEnvironment {
    configuration.hasOneGateway ? configuration.defaultEnvironment : environment
  }

  func pool(_ environment: PushEnvironment, isStandby: Bool = false) -> ConnectionPool {
    let key = poolKey(environment)
    if let pool = pools[key] { return pool }
    let pool = newPool(configuration.origin(of: key), isStandby: isStandby)
    pools[key] = pool
    pool.open()
    return pool
  }

  func broadcastPool(_ environment: PushEnvironment) -> ConnectionPool {
    let origin = configuration.broadcastOrigin(of: environment)
    if origin == configuration.origin(of: environment) { return pool(environment) }
    if let pool = broadcastPools[environment] { return pool }
    let pool = newPool(origin, isStandby: false)
    broadcastPools[environment] = pool
    pool.open()
    return pool
  }

  private func newPool(_ origin: Origin, isStandby: Bool) -> ConnectionPool {
    onOpen?()
    if ticker == nil { ticker = .every(configuration.limits.tick) { self.tick() } }
    return ConnectionPool(origin: origin, client: self, isStandby: isStandby)
  }
}

/// What the client does with a push after an answer.
enum Reaction: Equatable {
  /// Report the outcome.
  case finish
  /// Report the outcome; it does not prove that the provider token is valid.
  case refused
  /// Send again.
  case resend
  /// Send again, on another connection if this one may be replaced: it may be at fault.
  case resendElsewhere
  /// Send again on another connection, as APNs asks for.
  case leave
}

extension APNsClient {
  /// Returns the time until the next probe of the push's route; nil if it is not paused.
  public func untilProbe(for push: Push) -> Duration? {
    guard let route = push.route, route.isPaused else { return nil }
    let now = Clock.monotonicNanoseconds
    return .nanoseconds(Int64(clamping: route.nextProbeAt > now ? route.nextProbeAt - now : 0))
  }

  /// The id of the key that signs.
  public var signingKeyID: String { configuration.keyNames[keys.current].keyID }

  /// The paused routes, the longest paused first; at most ``RouteNotice/maximumListed``.
  public var pausedRoutes: [RouteNotice] { listed(\.pause) }

  /// The routes whose tokens are no longer removed. Pushes are still sent to them.
  public var stoppedRemovals: [RouteNotice] { listed(\.removalStop) }

  /// Returns whether the token of `push` may be removed because of `answer`.
  ///
  /// Returns false if the answers of its route indicate a wrong bundle id or environment rather than invalid tokens.
  /// Call it only if the answer means ``AnswerMeaning/staleToken(unregisteredSince:)``.
  public func removalAllowed(for push: Push, after answer: APNsAnswer) -> Bool {
    guard AnswerMeaning.isSuspect(answer) else { return true }
    return push.route?.isRemovalStopped(for: push) != true
  }

  /// Returns the outcome of a push whose route is paused; nil if the push may be sent, as a probe for example.
  func refusalByRoute(_ push: Push, now: UInt64) -> SendOutcome? {
    guard let route = push.route, let pause = route.pause, !push.isProbe, !route.admits(now: now) else { return nil }
    return .notProcessed("RoutePaused: \(pause.reason)")
  }

  /// Makes the push the probe of its route if the route is paused and a probe is due. Call it just before the push is
  /// sent.
  func startProbeIfDue(_ push: Push, now: UInt64) {
    guard let route = push.route, route.isPaused, !push.isProbe else { return }
    push.isProbe = route.takeProbe(now: now, next: now + configuration.limits.probeInterval.unsignedNanoseconds)
  }

  /// Updates the mass-removal guard, the keys and the route after an acceptance.
  func accepted(_ push: Push, _ answer: APNsAnswer, now: UInt64) {
    if keys.hasSeveral { keys.proven(by: push, now: now) }
    if let route = push.route { proven(route, by: push, answer, isSuspect: false, now: now) }
  }

  /// Updates the mass-removal guard, the provider token and the route after a refusal, and returns what to do with the
  /// push. Completes what the answer means by what others were answered.
  func handle(_ answer: inout APNsAnswer, for push: Push, on connection: Connection, now: UInt64) -> Reaction {
    refusals.record(push, answer, isFault: answer.meaning == .ourBug)
    if answer.reason == "DeviceTokenNotForTopic", connection.openedAt < topicsAddedAt {
      // Until then the topic may not have been the team's: the answer says nothing.
      answer.meaning = .failed
      return .refused
    }
    // A refusal of the provider that turns out to be of one device proves no token either.
    let reaction: Reaction = answer.meaning.provesProviderToken ? .finish : .refused
    switch answer.meaning {
    case .providerRefused:
      instruments.recordTokenRefusal(answer)
      if mayResend(push, afterRefusal: answer, now: now) { return .resendElsewhere }
      blame(push, &answer, now: now)
    case .tooManyProviderTokens:
      instruments.recordTokenRefusal(answer)
      // By Apple's word the connection cannot be used any more. On another one the older token is the second step.
      push.tokenResends += 1
      if push.tokenResends == 1 { return .resendElsewhere }
      if push.tokenResends == 2, keys.token.fallBack(afterRefusalOf: push.tokenGeneration) { return .resend }
      blame(push, &answer, now: now)
    case .topicRefused, .forbidden:
      blame(push, &answer, now: now)
    case .badJob where answer.reason == "BadTopic":
      // It says nothing good of the route. An older connection may not know the topic yet.
      guard push.tokenResends == 0, push.route.map({ $0.provenAt > 0 }) == true else { return .finish }
      push.tokenResends += 1
      return .resendElsewhere
    case .newConnection:
      return .leave
    case .staleToken, .failed:
      // A refusal that dates the end of the token proves, as an accepted push does, the environment and the topic.
      if let route = push.route {
        proven(route, by: push, answer, isSuspect: AnswerMeaning.isSuspect(answer), now: now)
      }
    default:
      // An error of the gateway proves nothing about the route: its jobs wait for the next probe.
      if answer.meaning.provesRoute, let route = push.route {
        route.provenAt = now
        if push.isProbe { resume(route) }
      }
    }
    return reaction
  }

  /// Returns whether a push whose key was refused is sent again: on another connection, with another key of the team, or with a
  /// token that is minted if Apple's limit allows it.
  private func mayResend(_ push: Push, afterRefusal answer: APNsAnswer, now: UInt64) -> Bool {
    defer { push.tokenResends += 1 }
    // The first may have been sent again with the same key, because that had just accepted others.
    if keyRefused(push, answer, now: now), push.tokenResends < keys.count { return true }
    let isOfToken = answer.reason.map(APNsClient.tokenReasons.contains) ?? false
    if isOfToken, push.tokenResends < 2, keys.token.renew(afterRefusalOf: push.tokenGeneration, now: now) {
      return true
    }
    return push.tokenResends == 0 && push.route?.isPaused != true
  }

  /// Ends the push of a device that is refused while others are accepted, and pauses a route that is refused.
  private func blame(_ push: Push, _ answer: inout APNsAnswer, now: UInt64) {
    guard let route = push.route else { return }
    let blame = route.refusals.record(
      push.token.hashValue, mayBeOfDevice: answer.meaning == .forbidden, provenAt: route.provenAt, now: now)
    switch blame {
    case .device: answer.meaning = .failed
    case .unknown where !route.isPaused: break
    case .unknown, .route: pause(route, answer, now: now)
    }
  }

  /// Returns whether another key of the team signs now than the one that APNs refused.
  private func keyRefused(_ push: Push, _ answer: APNsAnswer, now: UInt64) -> Bool {
    guard keys.hasSeveral, let reason = answer.reason, APNsClient.keyReasons.contains(reason) else { return false }
    let before = keys.current
    let hasOther = keys.refused(push, reason: reason, now: now)
    if keys.current != before {
      renewConnections()
      announceStateChange()
    }
    return hasOther
  }

  /// Another token may help.
  private static let tokenReasons = ["ExpiredProviderToken", "InvalidProviderToken"]

  private static let keyReasons = [
    "InvalidProviderToken", "ExpiredProviderToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken",
  ]

  private func proven(_ route: Route, by push: Push, _ answer: APNsAnswer, isSuspect: Bool, now: UInt64) {
    route.provenAt = now
    if push.isProbe { resume(route) }
    if route.recordToken(of: push, isSuspect: isSuspect, reason: answer.reason) { logRemoval(route) }
  }

  private func logRemoval(_ route: Route) {
    guard let stop = route.removalStop else {
      return log.info(
        "APNs route: stale tokens are removed again",
        ["environment": .init(route.environment.rawValue), "topic": .init(route.topic)])
    }
    let counts = route.removalCounts
    // Operator: Check the app's bundle id and the environment of its tokens (`APNS_USE_SANDBOX`).
    log.error(
      "APNs route: most tokens look invalid, so they are kept; sending continues",
      [
        "reason": .init(stop.reason), "environment": .init(route.environment.rawValue), "topic": .init(route.topic),
        "suspectOwners": .init(counts.suspect), "owners": .init(counts.all),
        "fix": .init(PushReason.fixOfStoppedRemoval),
      ])
  }

  private func pause(_ route: Route, _ answer: APNsAnswer, now: UInt64) {
    let reason = answer.reason ?? "HTTP_\(answer.status)"
    let nextProbeAt = now + configuration.limits.probeInterval.unsignedNanoseconds
    guard route.pause(reason: reason, since: Clock.unixMilliseconds, now: now, nextProbeAt: nextProbeAt) else { return }
    if let pause = route.pause { onRouteChange?(.paused(pause)) }
    // Operator: Follow `fix`. `martlet status` shows the route. The jobs run when it resumes, but never after their
    // expiration.
    log.error(
      "APNs route paused: its jobs are kept, one push a minute tries it again",
      [
        "reason": .init(reason), "environment": .init(route.environment.rawValue), "topic": .init(route.topic),
        "fix": .init(PushReason.of(reason).fix),
      ])
    announceStateChange()
  }

  private func resume(_ route: Route) {
    guard let pause = route.pause else { return }
    route.resume()
    log.info(
      "APNs route resumed",
      [
        "reason": .init(pause.reason), "environment": .init(route.environment.rawValue), "topic": .init(route.topic),
        "seconds": .init((Clock.unixMilliseconds - pause.since) / 1000),
      ])
    onRouteChange?(.resumed(pause))
    announceStateChange()
  }

  /// A client that was replaced has nothing that an operator should look at.
  private func listed(_ notice: (Route) -> RouteNotice?) -> [RouteNotice] {
    isReplaced ? [] : RouteNotice.listed(routes.all.compactMap(notice))
  }
}

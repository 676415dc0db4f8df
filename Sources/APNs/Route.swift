import PushModel
import EventLoop

/// One environment and topic. A refusal because of the configuration applies to all pushes of the route.
@EventLoop
final class Route {
  let environment: PushEnvironment
  let topic: String
  /// Users and instances, each counted once.
  private var ownedGuard = RemovalGuard()
  /// Anonymous devices, counted by token, so that registering thousands of them does not stop the removal of
  /// users' devices.
  private var unownedGuard = RemovalGuard()
  /// Tokens that are not registered, which may be invented: there is nothing to remove, and they stop no removal. If most of them
  /// are refused, nobody is told that they are gone.
  private var unregisteredGuard = RemovalGuard()
  /// The answer that stopped the removal of tokens.
  private(set) var removalStop: RouteNotice?
  /// Only probes are sent while a route is paused.
  private(set) var pause: RouteNotice?
  /// Of a paused route, on CLOCK_MONOTONIC, nanoseconds.
  private(set) var nextProbeAt: UInt64 = 0
  /// When it was paused, on CLOCK_MONOTONIC, nanoseconds.
  private(set) var pausedAt: UInt64 = 0
  var refusals = RouteRefusals()
  /// When APNs last accepted a push of this route, on CLOCK_MONOTONIC, nanoseconds.
  var provenAt: UInt64 = 0

  init(environment: PushEnvironment, topic: String) {
    self.environment = environment
    self.topic = topic
  }

  var isPaused: Bool { pause != nil }

  /// Pauses the route. Returns false if it is already paused; then only the next probe is postponed.
  func pause(reason: String, since: Int64, now: UInt64, nextProbeAt: UInt64) -> Bool {
    self.nextProbeAt = nextProbeAt
    guard !isPaused else { return false }
    pausedAt = now
    pause = notice(reason, since: since)
    return true
  }

  func resume() { pause = nil }

  /// Returns whether a push may be sent: the route is not paused, or a probe is due.
  func admits(now: UInt64) -> Bool { !isPaused || now >= nextProbeAt }

  /// Whether the next push of a paused route is its probe.
  func isProbeDue(now: UInt64) -> Bool { isPaused && now >= nextProbeAt }

  /// Starts a probe if one is due, and schedules the next for `next`. Returns whether it did.
  func takeProbe(now: UInt64, next: UInt64) -> Bool {
    guard isProbeDue(now: now) else { return false }
    nextProbeAt = next
    return true
  }

  /// Records APNs' answer about a device's token. Returns whether removal has stopped or started again.
  func recordToken(of push: Push, isSuspect: Bool, reason: String?) -> Bool {
    if isSuspect, !push.evidence.counts(reason) { return false }
    guard push.owner != .unregistered else {
      _ = unregisteredGuard.record(owner: push.token.hashValue, isSuspect: isSuspect)
      return false
    }
    if !isSuspect, push.owner == nil ? unownedGuard.isAllGood : ownedGuard.isAllGood { return false }
    let hasChanged =
      if let owner = push.owner {
        ownedGuard.record(owner: owner.hashValue, isSuspect: isSuspect)
      } else {
        unownedGuard.record(owner: push.token.hashValue, isSuspect: isSuspect)
      }
    guard hasChanged else { return false }
    let was = removalStop != nil
    removalStop = isRemovalStopped ? removalStop ?? notice(reason ?? "", since: Clock.unixMilliseconds) : nil
    return was != isRemovalStopped
  }

  /// Whether removal has stopped for owned devices, for anonymous devices, or for both.
  var isRemovalStopped: Bool { ownedGuard.isTripped || unownedGuard.isTripped }

  func isRemovalStopped(for push: Push) -> Bool {
    switch push.owner {
    case nil: unownedGuard.isTripped
    case .unregistered: unregisteredGuard.isTripped
    case .user, .instance: ownedGuard.isTripped
    }
  }

  /// Owners with refused tokens and all owners, of the kinds of devices that are no longer removed.
  var removalCounts: (suspect: Int, all: Int) {
    let guards = [ownedGuard, unownedGuard].filter(\.isTripped)
    return (guards.reduce(0) { $0 + $1.suspects }, guards.reduce(0) { $0 + $1.ownerCount })
  }

  /// Owners whose latest answer is remembered, and those of them whose token was refused.
  var guardCounts: (suspect: Int, all: Int) {
    (ownedGuard.suspects + unownedGuard.suspects, ownedGuard.ownerCount + unownedGuard.ownerCount)
  }

  private func notice(_ reason: String, since: Int64) -> RouteNotice {
    RouteNotice(environment: environment, topic: topic, reason: reason, since: since)
  }

  /// When the route was paused or its removal stopped, whichever is earlier; nil if it is healthy. Unix milliseconds.
  fileprivate var trippedSince: Int64? {
    [pause?.since, removalStop?.since].compactMap { $0 }.min()
  }
}

/// The routes in use. Their number is limited, because topics come from producers.
@EventLoop
final class RouteTable {
  static let maximumRoutes = 10_000
  /// Routes that are kept when the table is full, so that making room is rare.
  static let keptRoutes = maximumRoutes * 9 / 10

  private struct Key: Hashable {
    let environment: PushEnvironment
    let topic: String
  }

  private var routes: [Key: Route] = [:]
  /// Most pushes have the same route as the push before.
  private var latest: Route?

  /// Returns the route, and adds it if it is new.
  func route(_ environment: PushEnvironment, _ topic: String) -> Route {
    if let latest, latest.environment == environment, latest.topic == topic { return latest }
    let key = Key(environment: environment, topic: topic)
    if let route = routes[key] {
      latest = route
      return route
    }
    if routes.count >= RouteTable.maximumRoutes { makeRoom() }
    let route = Route(environment: environment, topic: topic)
    routes[key] = route
    latest = route
    return route
  }

  /// Returns nil if nothing was ever sent there.
  func known(_ environment: PushEnvironment, _ topic: String) -> Route? {
    routes[Key(environment: environment, topic: topic)]
  }

  var all: some Sequence<Route> { routes.values }

  /// Removes the healthy routes. If too many others are left, removes those that have been paused the longest: the next
  /// push probes such a route again.
  private func makeRoom() {
    var tripped = routes.compactMap { key, route in route.trippedSince.map { (key: key, since: $0) } }
    tripped.sort { $0.since > $1.since }
    let kept = Set(tripped.prefix(RouteTable.keptRoutes).map(\.key))
    routes = routes.filter { kept.contains($0.key) }
  }
}

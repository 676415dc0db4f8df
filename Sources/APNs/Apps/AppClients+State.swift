import EventLoop
public import PushModel

// What a worker asks about APNs as a whole.
extension AppClients {
  /// With more gateways than this, claims never stop because of an outage.
  nonisolated static let maximumGateways = 32

  /// Whether jobs may be claimed. With the fallback alone: a connection takes pushes. With apps, claims stop only if every
  /// gateway is out of reach: jobs of an app whose gateway is are postponed.
  public var takesPushes: Bool {
    guard hasApps else { return fallbackClient?.isConnected ?? false }
    return !areGatewaysOut()
  }

  /// Whether a connection that pushes need takes pushes. With apps also if none is needed at present.
  public var isServing: Bool {
    guard hasApps else { return fallbackClient?.isServing ?? false }
    let now = Clock.monotonicNanoseconds
    var isNeeded = false
    for client in clients {
      for pool in client?.pools.all ?? [] where !pool.isStandby {
        guard pool.isUnavailable(now: now) else { return true }
        isNeeded = true
      }
    }
    return !isNeeded
  }

  /// The paused routes, the longest paused first; at most ``RouteNotice/maximumListed``.
  public var pausedRoutes: [RouteNotice] { RouteNotice.listed(all.flatMap(\.pausedRoutes)) }

  /// The routes whose tokens are no longer removed. Pushes are still sent to them.
  public var stoppedRemovals: [RouteNotice] { RouteNotice.listed(all.flatMap(\.stoppedRemovals)) }

  /// The provider keys that APNs refuses while their team has another one; at most ``KeyNotice/maximumListed``.
  public var refusedKeys: [KeyNotice] { KeyNotice.listed(all.flatMap(\.refusedKeys)) }

  /// The last end of a connection that says something about a gateway.
  public var latestConnectionEnd: ConnectionEndNotice? { parts.ends.latest }

  /// The number of clients that cannot reach a gateway, by its URL; at most ``maximumGateways`` gateways.
  var unreachable: [String: Int] {
    let now = Clock.monotonicNanoseconds
    var counts: [String: Int] = [:]
    for client in all {
      for pool in client.allPools where !pool.isStandby && pool.isUnavailable(now: now) {
        guard counts[pool.origin.url] != nil || counts.count < AppClients.maximumGateways else { continue }
        counts[pool.origin.url, default: 0] += 1
      }
    }
    return counts
  }

  /// Returns whether every gateway is known to be out of reach. If those in use are, opens the others to find out.
  func areGatewaysOut() -> Bool {
    guard let gateways else { return false }
    let now = Clock.monotonicNanoseconds
    var known: Set<String> = []
    for client in clients {
      for pool in client?.pools.all ?? [] {
        guard pool.isUnavailable(now: now) else { return false }
        known.insert(pool.origin.url)
      }
    }
    guard !known.isEmpty, !isShutDown else { return false }
    let others = gateways.filter { !known.contains($0.key) }
    for (origin, index) in others { client(at: index).standBy(at: origin) }
    return others.isEmpty
  }
}

import EventLoop
import PushModel

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

import EventLoop

extension AppClients {
  /// Connections on demand that are kept open without a push; with one more, that without a push for longest is closed.
  /// A connection takes 100 KB of memory and three file descriptors.
  nonisolated static let maximumConnections = 256

  /// Closes the connections without a push for longest if there are too many.
  func makeRoom() {
    var pools: [(pool: ConnectionPool, client: APNsClient)] = []
    var count = 0
    for client in all where client.opensOnDemand {
      for pool in client.allPools {
        pools.append((pool, client))
        count += pool.size
      }
    }
    guard count >= maximumConnections else { return }
    let now = Clock.monotonicNanoseconds
    pools.sort { $0.pool.usedAt < $1.pool.usedAt }
    for (pool, client) in pools where pool.isIdle(for: .zero, now: now) {
      client.close(pool)
      count -= pool.size
      if count < maximumConnections { return }
    }
  }
}

import EventLoop

/// Asks the servers of a cluster which slots each has. Blocks; for the connector's queue.
enum ClusterDiscovery {
  /// Returns the answer of the first of `servers` that has one. Each gets an equal share of the remaining time.
  static func topology(
    of endpoint: RedisEndpoint, asking servers: [ClusterTopology.Server], until deadline: UInt64
  ) throws(RedisError) -> ClusterTopology {
    var failure = RedisError.notSent("no server of the cluster answered in time")
    for (index, server) in servers.enumerated() {
      let now = Clock.monotonicNanoseconds
      guard now < deadline else { break }
      do {
        return try ask(server, endpoint, until: now + (deadline - now) / UInt64(servers.count - index))
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private static func ask(
    _ server: ClusterTopology.Server, _ endpoint: RedisEndpoint, until deadline: UInt64
  ) throws(RedisError) -> ClusterTopology {
    let exchange = BlockingExchange(
      transport: try Connector.open(server, of: endpoint, until: deadline), server: server.summary)
    if let authentication = Greeting.authentication(endpoint) {
      if case .error(let error) = try exchange.send(authentication, until: deadline) {
        throw .notSent("\(server.summary): \(Greeting.explain(.authenticate, error))")
      }
    }
    let reply = try exchange.send(RedisCommand("CLUSTER", "SLOTS"), until: deadline)
    if case .error(let error) = reply { throw .notSent(explain(error, server)) }
    return try ClusterTopology(reply, askedServer: server)
  }

  private static func explain(_ error: RedisReplyError, _ server: ClusterTopology.Server) -> String {
    switch error.code {
    case "ERR" where error.message.contains("cluster support disabled"):
      "\(server.summary) is not part of a cluster: write redis:// or rediss:// in REDIS_URL"
    case "NOAUTH": "redis requires a password, but REDIS_URL has none: \(error.message)"
    default: "\(server.summary) refused CLUSTER SLOTS: \(error.message)"
    }
  }
}

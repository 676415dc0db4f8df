import EventLoop

/// Asks the servers of a cluster which slots each has. Blocks; for the connector's queue.
enum ClusterDiscovery {
  /// Returns the answer of the first of `servers` that has one.
  static func topology(
    of endpoint: RedisEndpoint, asking servers: [ClusterTopology.Server], until deadline: UInt64
  ) throws(RedisError) -> ClusterTopology {
    try Connector.first(of: servers, until: deadline, else: "no server of the cluster answered in time") {
      server, deadline throws(RedisError) in
      try ask(server, endpoint, until: deadline)
    }
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

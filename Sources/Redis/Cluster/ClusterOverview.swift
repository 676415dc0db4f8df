/// What a cluster says about its slots, for an operator.
public struct ClusterOverview: Sendable, Equatable {
  /// Primaries that have slots, as `host:port`.
  public let primaries: [String]
  /// Those of them without a replica.
  public let withoutReplica: [String]
  /// The first and the last slot of each range that no server has.
  public let uncovered: [ClosedRange<Int>]

  /// Reads the reply to CLUSTER SLOTS. Throws ``RedisError/notSent(_:)`` if it is something else.
  init(_ reply: RedisValue, askedServer: RedisEndpoint.HostAndPort) throws(RedisError) {
    let topology = try ClusterTopology(reply, askedServer: askedServer)
    primaries = topology.servers.map(\.summary)
    uncovered = topology.uncovered
    // A range is its first and its last slot, its primary, then its replicas.
    let alone = (reply.array ?? []).compactMap { range -> String? in
      guard let parts = range.array, parts.count == 3, let first = parts[0].count else { return nil }
      return topology[first]?.summary
    }
    withoutReplica = primaries.filter(Set(alone).contains)
  }
}

extension RedisClient {
  /// Asks a cluster for its slots. Nil if this is one server.
  public func clusterOverview() async throws(RedisError) -> ClusterOverview? {
    guard isCluster else { return nil }
    let reply = try await send(RedisCommand("CLUSTER", "SLOTS"))
    // A server that does not know its own name leaves it out.
    return try ClusterOverview(reply, askedServer: .init(host: "(unnamed)", port: 0))
  }
}

import EventLoop
import Redis
import TestSupport

/// A cluster: three shards, each a primary and its replica, which take over only when they are asked to.
@EventLoop
final class ClusterGroup: RedisServers {
  /// After this long without an answer a server counts as failed, and its slots are not served. A vote is given to each
  /// shard once in twice the time.
  private static let nodeTimeout = "5000"
  /// The maximum time for which writes are refused while the replica catches up.
  private static let pause = "20000"
  /// Redis gives up a planned failover after 5 s.
  private static let attemptTime = Duration.seconds(6)
  private static let attempts = 8
  /// Slots of users and devices that move at once.
  private static let slotsAtOnce = 8
  /// Of the keys of a slot, the part that is at its new server while it moves: `amount` chooses one.
  private static let parts = [0.5, 0, 1]

  private let cluster: RedisCluster
  private let queues: [String]
  private let deviceKeys: [String]
  /// The place of each shard's primary among the servers. Its replica is the other server of the shard.
  private var primaries: [Int]

  /// `deviceKeys` are those whose slots move; neighbours move together.
  init(queues: [String], deviceKeys: [String]) async throws {
    cluster = try await RedisCluster([
      "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction",
      "--enable-debug-command", "local", "--repl-diskless-sync", "yes",
      "--cluster-node-timeout", ClusterGroup.nodeTimeout, "--cluster-replica-no-failover", "yes",
    ])
    self.queues = queues
    self.deviceKeys = deviceKeys
    primaries = Array(0..<(cluster.nodes.count / 2))
  }

  var url: String { cluster.url }
  var masterPort: Int? { nil }

  var logs: [(name: String, lines: [String])] {
    cluster.nodes.enumerated().map { ("redis-\($0.offset)", $0.element.lines) }
  }

  func command(_ words: String..., for step: Step) async throws {
    try await primary(of: shard(of: step)).redisCLI(words)
  }

  func restart(for step: Step) async throws {
    try await primary(of: shard(of: step)).restart()
    try await awaitHealth()
  }

  func injectOwn(_ step: Step, for duration: Duration) async throws {
    let shard = shard(of: step)
    let part = ClusterGroup.parts[step.amount % ClusterGroup.parts.count]
    switch step.kind {
    case .primaryFailover: try await failOver(shard)
    case .plannedFailover: try await exchange(shard)
    case .queueMoved:
      try await move([queues[step.amount % queues.count]], to: shard, part: part, pausing: duration)
    case .devicesMoved:
      let keys = (0..<ClusterGroup.slotsAtOnce).map { deviceKeys[(step.amount + $0) % deviceKeys.count] }
      try await move(keys, to: shard, part: part, pausing: duration)
    default: preconditionFailure("\(step.kind) is not a fault of a cluster")
    }
  }

  private func shard(of step: Step) -> Int { (step.shard ?? 0) % primaries.count }
  private func primary(of shard: Int) -> RedisClusterNode { cluster.nodes[primaries[shard]] }
  private func replica(of shard: Int) -> RedisClusterNode {
    cluster.nodes[(primaries[shard] + primaries.count) % cluster.nodes.count]
  }

  private func swap(_ shard: Int) {
    primaries[shard] = (primaries[shard] + primaries.count) % cluster.nodes.count
  }

  /// Kills the primary, and returns when its replica has taken over and the primary is back as a replica.
  ///
  /// As with sentinels, writes are paused before until the replica has all of them.
  private func failOver(_ shard: Int) async throws {
    let (old, new) = (primary(of: shard), replica(of: shard))
    try await old.redisCLI(["CLIENT", "PAUSE", ClusterGroup.pause, "WRITE"])
    try await old.waitForReplica()
    try await old.kill()
    try await new.redisCLI(["CLUSTER", "FAILOVER", "TAKEOVER"])
    try await eventually("the replica takes over") { try await isPrimary(new) }
    swap(shard)
    try await old.restart()
    try await awaitHealth()
  }

  /// Lets primary and replica change their parts while both run.
  private func exchange(_ shard: Int) async throws {
    let new = replica(of: shard)
    for _ in 0..<ClusterGroup.attempts where try await !isPrimary(new) {
      try await new.redisCLI(["CLUSTER", "FAILOVER"])
      try? await eventually(within: ClusterGroup.attemptTime, "the replica takes over") { try await isPrimary(new) }
    }
    guard try await isPrimary(new) else { throw ChaosError("\(new.address) does not take over") }
    swap(shard)
    try await awaitHealth()
  }

  private func awaitHealth() async throws {
    try await cluster.awaitHealth(replicas: 1) { [self] in try await mend() }
  }

  /// A server that was killed may come back without slots, or as the replica of a primary of another shard, whom its last slot has
  /// moved to. As an operator does, this tells it whom to follow.
  private func mend() async throws {
    for shard in primaries.indices {
      let (leader, follower) = (primary(of: shard), replica(of: shard))
      let role = try await follower.redisCLI(["ROLE"]).split(separator: "\n").map(String.init)
      guard role.first != "slave" || role.dropFirst(2).first != "\(leader.port)" else { continue }
      // Refused while it has slots.
      _ = try? await follower.redisCLI(["CLUSTER", "REPLICATE", try await leader.id()])
    }
  }

  private func isPrimary(_ node: RedisClusterNode) async throws -> Bool {
    try await node.redisCLI(["ROLE"]).hasPrefix("master")
  }

  /// Moves the slots of `keys` with all keys in them, at the same time. `part` of the keys of each stay at the new server
  /// for `duration` while the others are at the old one.
  private func move(_ keys: [String], to shard: Int, part: Double, pausing duration: Duration) async throws {
    let target = primary(of: shard)
    let moves = Set(keys.map { HashSlot.of($0) }).map { slot in
      Task { @EventLoop in
        try await cluster.move(slot: slot, to: target, part: part) { try await Task.sleep(for: duration) }
      }
    }
    for move in moves { try await move.value }
  }
}

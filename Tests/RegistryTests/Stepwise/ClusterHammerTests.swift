import EventLoop
import PushModel
import Redis
import RedisSupport
import RegistrySupport
import Telemetry
import TestSupport
import Testing

@testable import Registry

/// Two processes that change the same devices on a cluster.
@EventLoop
@Suite(.serialized) struct ClusterHammerTests {
  private static let cluster = Task { try await RedisCluster(replicas: 0) }
  private static let users = HardNames.users(6).suffix(2).map { Username($0.form) }
  private static let apps = ["com.hammer.x", "com.hammer.y"]

  private func registry(on cluster: RedisCluster) async throws -> Registry {
    let redis = try await RedisClient.connected(to: cluster.url)
    return Registry(connection: redis, maximumDevices: 3, log: .silent)
  }

  /// Changes tokens at random. Others may make an operation fail, but not a user's registration. Returns the errors of those.
  private func hammer(_ registry: Registry, _ tokens: [String], seed: UInt64, count: Int) async -> [String] {
    var failures: [String] = []
    var random = SeededGenerator(seed: seed)
    for number in 0..<count {
      let (choice, token) = (random.next() % 8, tokens[Int(random.next() % UInt64(tokens.count))])
      let other = tokens[Int(random.next() % UInt64(tokens.count))]
      let (user, app) = (Self.users[Int(random.next() % 2)], Self.apps[Int(random.next() % 2)])
      let now = Int64(1000 + number)
      switch choice {
      case 0...3:
        let registration = Registration(
          token: DeviceToken(token), username: choice == 3 ? .nobody : user, platform: .ios, bundleID: app, now: now)
        do {
          try await registry.register(registration)
        } catch {
          if choice != 3 { failures.append("\(error)") }
        }
      case 4: _ = try? await registry.replace(token: DeviceToken(token), with: DeviceToken(other), of: user, now: now)
      case 5: _ = try? await registry.unregister(token: DeviceToken(token), username: user)
      case 6:
        let stale = StaleDevice(token: DeviceToken(token), owner: user, bundleID: app, notAfter: now)
        await withCheckedContinuation { done in registry.removeStale([stale]) { _ in done.resume() } }
      default:
        let resolution = await registry.resolve(.user(user))
        _ = try? await registry.clean(user: user, resolution.removals)
      }
    }
    return failures
  }

  private func hammerTogether(_ tokens: [String], on cluster: RedisCluster, seed: UInt64, count: Int) async throws -> (
    Registry, failures: [String]
  ) {
    let registries = [try await registry(on: cluster), try await registry(on: cluster)]
    let failures = await withTaskGroup(of: [String].self) { group in
      for (index, registry) in registries.enumerated() {
        for task in 0..<4 {
          group.addTask { await hammer(registry, tokens, seed: seed + UInt64(index * 4 + task), count: count) }
        }
      }
      var failures: [String] = []
      for await errors in group { failures += errors }
      return failures
    }
    return (registries[0], failures)
  }

  /// Returns what is wrong about the sets of these tokens.
  private func faults(_ registry: Registry, _ tokens: [String], isExact: Bool) async throws -> [String] {
    var faults: [String] = []
    for token in tokens {
      let stored = try await registry.reader.device(token)
      let sets = stored.sets
      for set in Self.users.map(DeviceSet.user) + Self.apps.map(DeviceSet.audience) {
        let key = set.key(of: token)
        let isMember =
          switch set {
          case .user, .userForm: try await registry.connection.send(RedisCommand("SISMEMBER", key, token)).integer == 1
          case .audience: try await registry.connection.send(RedisCommand("ZSCORE", key, token)) != .null
          case .activity: try await registry.connection.send(RedisCommand("HEXISTS", key, token)).integer == 1
          }
        if sets.contains(set) != isMember, isExact || !isMember { faults.append("\(token) in \(key): \(isMember)") }
      }
    }
    return faults
  }

  @Test func `every set contains exactly the devices whose metadata names it`() async throws {
    let tokens = (0..<5).map { "token-hammer-\($0)-0123456789abcdef" }
    let cluster = try await Self.cluster.value
    let (registry, failures) = try await hammerTogether(tokens, on: cluster, seed: 1, count: 60)
    #expect(failures == [])
    #expect(try await faults(registry, tokens, isExact: true) == [])
    for shard in 0..<AudienceShard.count {
      let journal = RegistryKeys.journal(shard: shard)
      #expect(try await registry.connection.send(RedisCommand("ZCARD", journal)).integer == 0)
    }
    let set = RegistryKeys.userTokens(Self.users[0])
    let count = try await registry.connection.send(RedisCommand("SCARD", set)).integer
    #expect(count ?? 9 <= 3)
  }

  @Test func `slots that move meanwhile lose no device`() async throws {
    let cluster = try await Self.cluster.value
    let tokens = (0..<5).map { "token-reshard-\($0)-0123456789abcdef" }
    let keys = [
      RegistryKeys.userTokens(Self.users[0]), RegistryKeys.token(entry: tokens[0]),
      RegistryKeys.token(entry: tokens[1]),
    ]
    let load = Task { @EventLoop in try await hammerTogether(tokens, on: cluster, seed: 100, count: 80) }
    for round in 0..<2 {
      for key in keys {
        let slot = try await cluster.slot(of: key)
        let source = try await cluster.primary(ofSlot: slot)
        let targets = cluster.nodes.filter { $0 !== source }
        try await cluster.move(slot: slot, to: targets[round % targets.count])
      }
    }
    let (registry, failures) = try await load.value
    #expect(failures == [])
    _ = try await (registry.executor as? ClusterExecutor)?.repair(after: 0)
    #expect(try await faults(registry, tokens, isExact: false) == [])
  }

  @Test func `a primary that dies stops registrations only until its replica takes over`() async throws {
    let cluster = try await RedisCluster()
    let tokens = (0..<3).map { "token-failover-\($0)-0123456789abcdef" }
    let (registry, _) = try await hammerTogether(tokens, on: cluster, seed: 200, count: 20)
    let load = Task { @EventLoop in try await hammerTogether(tokens, on: cluster, seed: 300, count: 40) }
    try await cluster.primary(of: RegistryKeys.userTokens(Self.users[0])).kill()
    _ = try await load.value
    // What the dead primary had not passed on is lost; a registration writes it again.
    for token in tokens {
      try await eventually("\(token) is registered") {
        do {
          try await registry.register(
            Registration(
              token: DeviceToken(token), username: Self.users[0], platform: .ios, bundleID: Self.apps[0], now: 9000))
          return true
        } catch {
          return false
        }
      }
    }
    _ = try await (registry.executor as? ClusterExecutor)?.repair(after: 0)
    #expect(try await faults(registry, tokens, isExact: false) == [])
    try await cluster.stop()
  }
}

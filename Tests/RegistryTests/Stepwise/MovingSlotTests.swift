import EventLoop
import PushModel
import Redis
import RedisSupport
import RegistrySupport
import Telemetry
import TestSupport
import Testing

@testable import Registry

/// Devices whose only key of a slot is at a server that gives the slot away.
@EventLoop
struct MovingSlotTests {
  @Test func `a device changes its owner, and an instance its state, while their slots move`() async throws {
    let cluster = try await RedisCluster(replicas: 0)
    let redis = try await RedisClient.connected(to: cluster.url)
    defer { redis.close() }
    let registry = Registry(connection: redis, maximumDevices: 1, log: .silent)
    let token = "token-moving-0123456789abcdef"
    let keys = [
      RegistryKeys.token(entry: token), RegistryKeys.userTokens("mover-0"), RegistryKeys.userTokens("mover-1"),
      DeviceSet.audience("com.mover.0").key(of: token), RegistryKeys.instance("mover"),
      RegistryKeys.journal(shard: AudienceShard.shard(of: token)),
    ]
    for (number, key) in keys.enumerated() {
      try await registry.register(
        instance: "mover", InstanceRecord(token: DeviceToken(token), environment: nil, updatedAt: 1))
      _ = try await registry.register(registration(token, number))
      let source = try await cluster.primary(of: key)
      let target = try #require(cluster.nodes.first { $0 !== source })
      try await cluster.move(slot: try await cluster.slot(of: key), to: target) {
        #expect(try await registry.register(registration(token, number + 1)).previousOwner == "mover-\(number % 2)")
        let count = try await withCheckedThrowingContinuation { continuation in
          registry.deactivate(instance: "mover", token: DeviceToken(token), notAfter: 2) {
            continuation.resume(with: $0)
          }
        }
        #expect(count == 1)
      }
      #expect(await registry.resolve(.user("mover-\((number + 1) % 2)")).devices.map(\.token.text) == [token])
      #expect(await registry.resolve(.user("mover-\(number % 2)")).devices.isEmpty)
      #expect(
        try await redis.send(RedisCommand("GET", RegistryKeys.instance("mover"))).string?.contains("false") == true)
    }
    try await cluster.stop()
  }

  private func registration(_ token: String, _ number: Int) -> Registration {
    Registration(
      token: DeviceToken(token), username: "mover-\(number % 2)", platform: .ios, bundleID: "com.mover.\(number % 2)",
      now: Int64(number))
  }
}

import EventLoop
import Redis
import RedisSupport
import TestSupport
import Testing

@testable import Credentials

/// Keys at a server that gives their slots away.
@EventLoop
struct MovingCredentialsTests {
  @Test func `credentials and counts change while their slots move`() async throws {
    let cluster = try await RedisCluster(replicas: 0)
    let redis = try await RedisClient.connected(to: cluster.url)
    defer { redis.close() }
    let (credentials, limiter) = (Credentials(connection: redis), RateLimiter(connection: redis))
    _ = try await credentials.add(
      Credential(kind: .user, name: "moving", digest: Credential.digest(of: "moving"), createdAt: 1))
    let limit = WindowLimit(9, per: .seconds(3600))
    _ = try await limiter.count(.testPush, of: "moving", limit)
    _ = try await limiter.take("moving", .standard)
    let counts = CredentialKeys.windowCount(.testPush, "moving")
    for key in [CredentialKeys.credentials(.user), counts, CredentialKeys.allowance("moving")] {
      let source = try await cluster.primary(of: key)
      let target = try #require(cluster.nodes.first { $0 !== source })
      try await cluster.move(slot: try await cluster.slot(of: key), to: target) {
        #expect(try await credentials.setEnabled(false, .user, "moving"))
        _ = try await limiter.count(.testPush, of: "moving", limit)
        #expect(try await limiter.take("moving", .standard) == .admitted)
      }
    }
    #expect(try await credentials.list(.user).first { $0.name == "moving" }?.isEnabled == false)
    #expect(try await limiter.count(.testPush, of: "moving", limit).count == 5)
    try await cluster.stop()
  }
}

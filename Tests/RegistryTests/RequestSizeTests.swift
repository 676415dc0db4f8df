import EventLoop
import PushModel
import RegistrySupport
import TestSupport
import Testing

@testable import Backup
@testable import Redis
@testable import Registry

/// No command of the registry has more words than any server accepts.
@EventLoop
@Suite(.serialized, .onOneServer)
struct RequestSizeTests {
  @Test func `users and audiences of any size stay within the limit`() async throws {
    let server = try await RedisServer()
    let fixture = try await Fixture(maximumDevices: 1000, server: server)
    try await server.keepRequests()
    let tokens = (0..<6000).map { fixture.token("size-\($0)") }
    // More devices than the limit of the user, as older versions and other programs leave them.
    for (set, token) in tokens.enumerated() {
      let metadata = DeviceMetadata(username: "many", platform: .ios, updatedAt: Int64(set + 1), bundleID: "com.many")
      fixture.redis.send(RedisCommand("SADD", RegistryKeys.userTokens("many"), token)) { _ in }
      fixture.redis.send(RedisCommand("SET", RegistryKeys.token(entry: token)).with(metadata.json())) { _ in }
    }
    _ = try await fixture.run("PING")
    _ = try await fixture.register(fixture.token("size-new"), "many", app: "com.many", now: 10_000)
    _ = await fixture.registry.resolve(.user("many"))
    _ = await fixture.resolve([
      .tokens(tokens[..<1000].map { DeviceToken($0) }), .tokens(tokens[1000..<2000].map { DeviceToken($0) }),
    ])
    let removals = tokens.map { Removal(entry: Array($0.utf8), reason: .otherOwner) }
    _ = try await fixture.clean(user: "nobody", removals)
    _ = try await fixture.clean(app: "com.nobody", removals)
    let stale = tokens[..<1000].map {
      StaleDevice(token: DeviceToken($0), owner: "many", bundleID: "com.many", notAfter: 1)
    }
    _ = try await withCheckedThrowingContinuation { continuation in
      fixture.registry.removeStale(stale) { continuation.resume(with: $0) }
    }
    let entries = tokens[..<2000].map { token in
      BackupEntry.device(
        token: DeviceToken(token),
        DeviceMetadata(username: "restored-\(token.suffix(20))", platform: .ios, updatedAt: 1, bundleID: "com.r"))
    }
    _ = try await fixture.registry.restore(entries)
    let file = try TemporaryDirectory()
    _ = try await fixture.registry.exportBackup(path: "\(file.path)/backup.json")
    _ = try await fixture.registry.unregisterAll(username: "many")
    let longest = try await server.longestRequest()
    #expect(longest > 1000 && longest < RequestLimits.maximumWords, "\(longest)")
  }

  @Test func `empty bytes for the metadata of a set's entry mean that it has none`() {
    let decision = Ownership.decide(entry: Array("token-empty-0123456789abcdef".utf8), metadata: [], owner: "a")
    guard case .remove(let removal) = decision else {
      Issue.record("\(decision)")
      return
    }
    #expect(removal.reason == .noMetadata)
    #expect(RedisValue.bytes([]).contents == nil)
    #expect(RedisValue.bytes([1]).contents == [1])
  }
}

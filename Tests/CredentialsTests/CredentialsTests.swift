import EventLoop
import Redis
import RedisSupport
import Registry
import RegistrySupport
import TestSupport
import Testing
@testable import Credentials

/// Known and unknown secrets cost the same.
@EventLoop
@Suite(.inEveryWay)
struct CredentialsTests {
  @Test(arguments: ["15-bytes-are-few", "16-bytes-will-do"])
  func `a secret has at least sixteen bytes`(text: String) {
    #expect(Credential.secret(Array(text.utf8.prefix(16))) != nil)
    #expect(Credential.secret(Array(text.utf8.prefix(15))) == nil)
    #expect(Credential.randomSecret().utf8.count >= 16)
  }

  @Test func `a shorter secret that is already stored still works`() async throws {
    let fixture = try await Fixture()
    let credentials = Credentials(connection: fixture.redis)
    let credential = Credential(kind: .user, name: "short-lived", digest: Credential.digest(of: "short"), createdAt: 1)
    #expect(try await credentials.add(credential) == nil)
    #expect(try await credentials.enabled(.user, "short-lived", secret: "short") != nil)
    #expect(try await credentials.enabled(.user, "short-lived", secret: "other") == nil)
  }

  @Test(arguments: [Credential.Kind.key, .instance])
  func `Redis does the same reads for an unknown secret`(kind: Credential.Kind) async throws {
    let server = try await RedisServer()
    let redis = try await RedisClient.connected(to: server.url)
    let credentials = Credentials(connection: redis)
    for (name, isEnabled) in [("known", true), ("disabled", false)] {
      _ = try await credentials.add(
        Credential(
          kind: kind, name: name, digest: Credential.digest(of: name), createdAt: 1, isEnabled: isEnabled))
    }
    var reads: [String] = []
    for secret in ["known", "disabled", "nobody's"] {
      _ = try await redis.send(RedisCommand("CONFIG", "RESETSTAT"))
      #expect(try await (credentials.find(kind, secret: secret) != nil) == (secret != "nobody's"))
      let stats = try await redis.send(RedisCommand("INFO", "commandstats")).string ?? ""
      let line = stats.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_hget:") } ?? "none"
      reads.append(String(line.prefix { $0 != "," }))
    }
    #expect(reads == Array(repeating: "cmdstat_hget:calls=2", count: 3))
    redis.close()
    try await server.stop()
  }

  @Test func `a credential is added, found, disabled and revoked`() async throws {
    let credentials = Credentials(connection: try await Fixture().redis)
    let credential = Credential(kind: .key, name: "life", digest: Credential.digest(of: "life-1"), createdAt: 1)
    #expect(try await credentials.add(credential) == nil)
    #expect(try await credentials.add(credential) == .nameTaken)
    let same = Credential(kind: .key, name: "other", digest: credential.digest, createdAt: 1)
    #expect(try await credentials.add(same) == .secretTaken)
    #expect(try await credentials.find(.key, secret: "life-1") == credential)
    #expect(try await credentials.setEnabled(false, .key, "life"))
    #expect(try await credentials.find(.key, secret: "life-1")?.isEnabled == false)
    #expect(try await credentials.list(.key).contains { $0.name == "life" })
    #expect(try await credentials.revoke(.key, "life"))
    #expect(try await credentials.find(.key, secret: "life-1") == nil)
  }

  @Test func `requests are counted`() async throws {
    let limiter = RateLimiter(connection: try await Fixture().redis)
    for count in 1...3 {
      let window = try await limiter.count(.testPush, of: "counted", WindowLimit(2, per: .seconds(3600)))
      #expect(window.count == count)
    }
    let quota = KeyQuota(perSecond: 1, burst: 1, perDay: 1)
    #expect(try await limiter.take("counted", quota) == .admitted)
    guard case .dayUsedUp = try await limiter.take("counted", quota) else {
      Issue.record("a second request of the day was admitted")
      return
    }
  }
}

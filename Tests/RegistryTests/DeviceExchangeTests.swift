import EventLoop
import Redis
import Registry
import RegistrySupport
import Testing
@testable import PushModel

/// Replacing and forgetting devices, also at the same time.
@EventLoop
@Suite(.inEveryWay)
struct DeviceExchangeTests {
  @Test func `a new token keeps the data of the device, including the environment`() async throws {
    let fixture = try await Fixture()
    let (old, new) = (fixture.token("swap-old"), fixture.token("swap-new"))
    try await fixture.registry.register(
      Registration(
        token: DeviceToken(old), username: "swapper", platform: .android, bundleID: "com.swap", environment: .sandbox,
        now: 5))
    let device = try await fixture.registry.replace(
      token: DeviceToken(old), with: DeviceToken(new), of: "swapper", now: 9
    ).device
    #expect(
      device
        == Device(
          token: DeviceToken(new), username: "swapper", platform: .android, bundleID: "com.swap", environment: .sandbox,
          updatedAt: 9,
          createdAt: 5, kind: .app))
    #expect(try await fixture.metadata(old) == nil)
    #expect(try await fixture.members("swapper") == [new])
    #expect(try await fixture.run("TTL", RegistryKeys.token(entry: new)).integer ?? 0 > 31_500_000)
  }

  @Test func `a device written by another program is replaced, with the data that can be read`() async throws {
    let fixture = try await Fixture()
    let (old, new) = (fixture.token("plain-old"), fixture.token("plain-new"))
    _ = try await fixture.run(
      "SET", RegistryKeys.token(entry: old), #"{"username":" Plain ","updatedAt":7,"createdAt":"x"}"#)
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("plain"), old)
    let device = try await fixture.registry.replace(
      token: DeviceToken(old), with: DeviceToken(new), of: "plain", now: 9
    ).device
    // The first registration was not later than the last one that is known.
    #expect(device?.createdAt == 7)
    #expect(device?.platform == .ios)
    #expect(try await fixture.members("plain") == [new])
  }

  @Test(arguments: ["1e999", "-1e999", "1e308", "9223372036854775807"])
  func `a device whose times nobody wrote is registered again and replaced`(number: String) async throws {
    let fixture = try await Fixture()
    let (old, new) = (fixture.token("wild-old"), fixture.token("wild-new"))
    let metadata = #"{"username":"wild","platform":"ios","updatedAt":\#(number),"createdAt":\#(number)}"#
    _ = try await fixture.run("SET", RegistryKeys.token(entry: old), metadata)
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("wild"), old)
    let device = try await fixture.registry.replace(
      token: DeviceToken(old), with: DeviceToken(new), of: "wild", now: 9
    ).device
    #expect(device?.createdAt == 9)
    _ = try await fixture.run("SET", RegistryKeys.token(entry: new), metadata)
    _ = try await fixture.register(new, "wild", now: 10)
    #expect(try await fixture.metadata(new)?.createdAt == 10)
    #expect(try await fixture.members("wild") == [new])
  }

  @Test func `one of many concurrent exchanges of a token succeeds, and the device exists once`() async throws {
    let fixture = try await Fixture()
    let old = fixture.token("contended")
    _ = try await fixture.register(old, "contender", app: "com.contended")
    let new = (0..<8).map { fixture.token("contended-\($0)") }
    let winners = await withTaskGroup(of: String?.self) { group in
      for token in new {
        group.addTask {
          let replacement = try? await fixture.registry.replace(
            token: DeviceToken(old), with: DeviceToken(token), of: "contender", now: 2)
          return replacement?.device == nil ? nil : token
        }
      }
      var winners: [String] = []
      for await winner in group.compactMap({ $0 }) { winners.append(winner) }
      return winners
    }
    #expect(winners.count == 1)
    #expect(try await fixture.members("contender") == Set(winners))
    let page = try await fixture.registry.audiencePage(of: "com.contended", from: .start)
    #expect(page.devices.map(\.token.text) == winners)
    #expect(page.removals.isEmpty)
  }

  @Test func `registering, exchanging and forgetting at the same time leave a consistent state`() async throws {
    let fixture = try await Fixture()
    let tokens = (0..<3).map { fixture.token("turmoil-\($0)") }
    let users = ["turmoil-a", "turmoil-b", ""]
    await withTaskGroup(of: Void.self) { group in
      for round in 0..<40 {
        let (token, other, user) = (tokens[round % 3], tokens[(round + 1) % 3], users[round / 3 % 3])
        // An operation that loses too often throws; only the state in redis matters.
        group.addTask {
          switch round % 4 {
          case 0, 1: _ = try? await fixture.register(token, Username(user), app: "com.turmoil.\(round % 2)")
          case 2:
            _ = try? await fixture.registry.replace(
              token: DeviceToken(token), with: DeviceToken(other), of: Username(user), now: 3)
          default: _ = try? await fixture.registry.forget(token: DeviceToken(token))
          }
        }
      }
    }
    for token in tokens {
      let metadata = try await fixture.metadata(token)
      for user in users where !user.isEmpty {
        #expect(try await fixture.members(Username(user)).contains(token) == (metadata?.username.text == user))
      }
      for app in ["com.turmoil.0", "com.turmoil.1"] {
        #expect(try await fixture.audience(app, of: token) == (metadata?.bundleID == app))
      }
    }
    #expect(try await fixture.members("").isEmpty)
  }

  @Test func `a device that is not registered or cannot be read is not found`() async throws {
    let fixture = try await Fixture()
    let (missing, unreadable) = (fixture.token("missing"), fixture.token("unreadable"))
    _ = try await fixture.run("SET", RegistryKeys.token(entry: unreadable), "{")
    for token in [missing, unreadable] {
      #expect(
        try await fixture.registry.replace(token: DeviceToken(token), with: DeviceToken(token), of: "anybody", now: 1)
          == .notFound)
      #expect(try await !fixture.registry.forget(token: DeviceToken(token)))
    }
    #expect(try await fixture.members("anybody").isEmpty)
  }

  @Test func `a list continues after a batch of another user's entries`() async throws {
    let fixture = try await Fixture(maximumDevices: 1000)
    var command = RedisCommand("SADD", RegistryKeys.userTokens("long-list"))
    for index in 0..<700 { command.append(fixture.token("aaa-\(1000 + index)")) }
    _ = try await fixture.redis.send(command)
    let own = [fixture.token("zzz-1"), fixture.token("zzz-2")]
    for token in own { _ = try await fixture.register(token, "long-list") }
    let page = try await fixture.registry.devices(of: "long-list", after: nil, limit: 1)
    #expect(page.devices.map(\.token.text) == [own[0]])
    #expect(page.hasMore)
    #expect(page.removals.count == 700)
    let rest = try await fixture.registry.devices(of: "long-list", after: DeviceToken(own[0]), limit: 1)
    #expect(rest.devices.map(\.token.text) == [own[1]])
    #expect(!rest.hasMore)
  }
}

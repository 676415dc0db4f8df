import EventLoop
import Redis
import Registry
import Telemetry
import RegistrySupport
import TestSupport
import Testing
@testable import PushModel

@EventLoop
@Suite(.inEveryWay)
struct ResolveTests {
  @Test func `a batch of queries is answered in its order`() async throws {
    let fixture = try await Fixture()
    let (one, two, lost) = (fixture.token("batch-1"), fixture.token("batch-2"), fixture.token("batch-lost"))
    _ = try await fixture.register(one, "batch", app: "com.batch")
    _ = try await fixture.register(two, "batch")
    try await fixture.registry.register(
      instance: "batch", InstanceRecord(token: DeviceToken(two), environment: .sandbox, updatedAt: 3))
    let resolutions = await fixture.resolve([
      .token(DeviceToken(lost)), .user("batch"), .tokens([DeviceToken(one), DeviceToken(lost)]), .instance("batch"),
      .user("nobody"),
      .userToken(user: "batch", token: DeviceToken(two)), .userToken(user: "batch", token: DeviceToken(lost)),
      .instance("nobody"),
    ])
    #expect(resolutions[0].devices == [Device(token: DeviceToken(lost))])
    #expect(Set(resolutions[1].devices.map(\.token.text)) == [one, two])
    #expect(resolutions[2].devices.map(\.bundleID) == ["com.batch", nil])
    #expect(
      resolutions[3].devices == [Device(token: DeviceToken(two), environment: .sandbox, updatedAt: 3, kind: .app)])
    #expect(resolutions[4] == Resolution())
    #expect(resolutions[5].devices.map(\.token.text) == [two])
    #expect(resolutions[6] == Resolution())
    #expect(resolutions[7] == Resolution())
  }

  @Test func `no queries have no resolutions`() async throws {
    #expect(try await Fixture().resolve([]).isEmpty)
  }

  @Test func `an inactive instance has no device`() async throws {
    let fixture = try await Fixture()
    let record = InstanceRecord(
      token: DeviceToken(fixture.token("asleep")), environment: nil, updatedAt: 1, isActive: false)
    try await fixture.registry.register(instance: "asleep", record)
    #expect(await fixture.resolve([.instance("asleep")]) == [Resolution()])
  }

  @Test func `more tokens than fit one command are all found`() async throws {
    let fixture = try await Fixture()
    let tokens = (0..<1000).map { fixture.token("many-\($0)") }
    #expect(await fixture.resolve([.tokens(tokens.map { DeviceToken($0) })])[0].devices.map(\.token.text) == tokens)
  }

  @Test func `a key of the wrong type fails its own query only`() async throws {
    let fixture = try await Fixture()
    _ = try await fixture.run("SET", RegistryKeys.userTokens("wrongtype"), "x")
    _ = try await fixture.register(fixture.token("right"), "rightype")
    let resolutions = await fixture.resolve([.user("wrongtype"), .user("rightype")])
    guard case .reply(let error) = resolutions[0].error else {
      Issue.record("no error: \(resolutions[0])")
      return
    }
    #expect(error.code == "WRONGTYPE")
    #expect(resolutions[1].devices.count == 1)
  }

  @Test func `without redis every query has an error`() async throws {
    let endpoint = try RedisEndpoint(url: "unix:///nowhere/redis.sock")
    let registry = Registry(connection: RedisClient(endpoint: endpoint, name: "test", log: .silent), log: .silent)
    let resolutions = await withCheckedContinuation { continuation in
      registry.resolve([.user("a"), .token("b")]) { continuation.resume(returning: $0) }
    }
    #expect(resolutions.allSatisfy { $0.error != nil && $0.devices.isEmpty })
  }

  @Test func `thousands of garbage entries are found, removed, and never sent to`() async throws {
    let fixture = try await Fixture()
    let good = fixture.token("good")
    _ = try await fixture.register(good, "garbage")
    let foreign = fixture.token("foreign")
    _ = try await fixture.register(foreign, "somebody")
    var command = RedisCommand("SADD", RegistryKeys.userTokens("garbage"), foreign)
    for index in 0..<1900 { command.append(fixture.token("gone-\(index)")) }
    for index in 0..<1900 { command.append([0, 255, UInt8(index % 256), UInt8(index / 256)]) }
    _ = try await fixture.redis.send(command)
    let resolution = await fixture.registry.resolve(.user("garbage"))
    #expect(resolution.devices.map(\.token.text) == [good])
    #expect(resolution.removals.isEmpty)
    #expect(try await fixture.members("garbage") == [good])
    #expect(try await fixture.metadata(foreign)?.username == "somebody")
  }

  @Test func `an entry that was registered in the meantime is kept`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("meanwhile")
    _ = try await fixture.register(token, "meanwhile")
    let removal = Removal(entry: Array(token.utf8), reason: .noMetadata)
    #expect(try await fixture.clean(user: "meanwhile", [removal]) == 0)
    #expect(try await fixture.members("meanwhile") == [token])
  }
}

import Crypto
import EventLoop
import PushModel
import Redis
import RegistrySupport
import TestSupport
import Testing

@testable import Registry

/// Other programs, and sidecars of before, store the token of a device in the case in which an app writes it.
@EventLoop
@Suite(.inEveryWay)
struct TokenFormTests {
  private func token(_ name: String) -> (lower: String, upper: String) {
    let token = SHA256.hex("\(Way.current)-\(name)")
    return (token, token.uppercased())
  }

  /// Stores a device as another program does.
  private func store(
    _ fixture: Fixture, _ entry: String, _ user: String, at time: Int64, platform: String = "ios", app: String? = nil
  ) async throws {
    _ = try await fixture.run("SADD", RegistryKeys.userTokens(Username(user)), entry)
    let app = app.map { #","bundleId":"\#($0)""# } ?? ""
    _ = try await fixture.run(
      "SET", RegistryKeys.token(entry: entry),
      #"{"username":"\#(user)","platform":"\#(platform)","updatedAt":\#(time)\#(app)}"#,
      "EX", "1000")
  }

  private func expectOnly(_ token: (lower: String, upper: String), of user: String, _ fixture: Fixture) async throws {
    #expect(try await fixture.members(Username(user)) == [token.lower])
    #expect(try await fixture.metadata(token.upper) == nil)
    #expect(try await fixture.metadata(token.lower)?.username.text == user)
  }

  @Test func `a push reaches a device that is stored in upper case, and brings it to its form`() async throws {
    let fixture = try await Fixture()
    let token = token("alone")
    try await store(fixture, token.upper, "form-alone", at: 5)
    let found = await fixture.resolve([.user("nobody"), .user("form-alone")])
    #expect(found[0] == Resolution())
    #expect(found[1].devices.map(\.token) == [DeviceToken(token.lower)])
    #expect(found[1].devices.map(\.updatedAt) == [5])
    #expect(found[1].removals.isEmpty)
    try await expectOnly(token, of: "form-alone", fixture)
  }

  @Test(arguments: [3, 7] as [Int64]) func `two forms are one device, as the newer registration says`(other: Int64)
    async throws
  {
    let fixture = try await Fixture()
    let (token, user) = (token("twins-\(other)"), "form-twins-\(other)")
    try await store(fixture, token.lower, user, at: 5, app: "com.lower")
    try await store(fixture, token.upper, user, at: other, app: "com.upper")
    let devices = await fixture.resolve([.user(Username(user))])[0].devices
    #expect(devices.map(\.token) == [DeviceToken(token.lower)])
    #expect(devices.map(\.bundleID) == [other > 5 ? "com.upper" : "com.lower"])
    try await expectOnly(token, of: user, fixture)
  }

  @Test(arguments: [3, 7] as [Int64]) func `of two owners the newer registration wins`(other: Int64) async throws {
    let fixture = try await Fixture()
    let (token, alice, bob) = (token("owners-\(other)"), "form-alice-\(other)", "form-bob-\(other)")
    try await store(fixture, token.lower, alice, at: 5)
    try await store(fixture, token.upper, bob, at: other)
    let ofBob = await fixture.resolve([.user(Username(bob))])[0].devices
    let ofAlice = await fixture.resolve([.user(Username(alice))])[0].devices
    #expect(ofBob.map(\.token.text) == (other > 5 ? [token.lower] : []))
    #expect(ofAlice.map(\.token.text) == (other > 5 ? [] : [token.lower]))
  }

  @Test func `registering a device in upper case takes it from its owner`() async throws {
    let fixture = try await Fixture()
    let token = token("taken")
    _ = try await fixture.register(token.lower, "form-owner", now: 5)
    #expect(try await fixture.register(token.upper, "form-taker", now: 6) == "form-owner")
    #expect(try await fixture.members("form-owner").isEmpty)
    try await expectOnly(token, of: "form-taker", fixture)
  }

  @Test func `a registration keeps what is stored of the device in upper case`() async throws {
    let fixture = try await Fixture()
    let token = token("known")
    try await store(fixture, token.upper, "form-known", at: 5, app: "com.known")
    _ = try await fixture.register(token.lower, "form-known", now: 6)
    #expect(try await fixture.metadata(token.lower)?.bundleID == "com.known")
    try await expectOnly(token, of: "form-known", fixture)
  }

  @Test func `a job that names the device finds it, whichever case is stored`() async throws {
    let fixture = try await Fixture()
    let (one, two, three) = (token("named-1"), token("named-2"), token("named-3"))
    for token in [one, two, three] { try await store(fixture, token.upper, "form-named", at: 5, app: "com.named") }
    let found = await fixture.resolve([
      .token(DeviceToken(one.upper)), .tokens([DeviceToken(two.lower), DeviceToken(token("unknown").lower)]),
      .userToken(user: "form-named", token: DeviceToken(three.lower)),
      .userToken(user: "form-others", token: DeviceToken(three.lower)),
    ])
    #expect(found[0].devices.map(\.bundleID) == ["com.named"])
    #expect(Set(found[1].devices.map(\.bundleID)) == ["com.named", nil])
    #expect(found[2].devices.map(\.token.text) == [three.lower])
    #expect(found[3].devices.isEmpty)
    #expect(try await fixture.members("form-named") == [one.lower, two.lower, three.lower])
  }

  @Test func `an app's audience has the device once`() async throws {
    let fixture = try await Fixture()
    let (both, single, foreign) = (token("audience-both"), token("audience-single"), token("audience-foreign"))
    let app = "com.form.audience.\(Way.current)"
    _ = try await fixture.register(both.lower, "form-audience", app: app, now: 5)
    _ = try await fixture.register(foreign.lower, "form-audience", app: "com.form.newer", now: 9)
    for token in [both, single, foreign] {
      try await store(fixture, token.upper, "form-audience", at: 7, app: app)
      let key = RegistryKeys.audience(app, shard: AudienceShard.shard(of: token.upper))
      _ = try await fixture.run("ZADD", key, "0", token.upper)
    }
    let page = try await fixture.registry.audiencePage(of: app, from: .start)
    #expect(page.devices.map(\.token.text).sorted() == [both.lower, single.lower].sorted())
    #expect(page.removals.isEmpty)
  }

  @Test func `all devices are brought to their form by the walk`() async throws {
    let fixture = try await Fixture()
    let tokens = (0..<20).map { token("walk-\($0)") }
    for token in tokens { try await store(fixture, token.upper, "form-walk", at: 5, app: "com.walk") }
    for server in 0..<fixture.registry.serverCount {
      var cursor: String? = "0"
      while let from = cursor {
        cursor = try await fixture.registry.tidy(app: nil, server: server, from: from).next
      }
    }
    #expect(try await fixture.members("form-walk") == Set(tokens.map(\.lower)))
    #expect(try await fixture.audience("com.walk", of: tokens[0].lower))
  }

  @Test func `a device is removed, exchanged and listed under either form`() async throws {
    let fixture = try await Fixture()
    let (one, two, three, new) = (token("gone-1"), token("gone-2"), token("gone-3"), token("gone-4"))
    for token in [one, two, three] { try await store(fixture, token.upper, "form-gone", at: 5) }
    let page = try await fixture.registry.devices(of: "form-gone", after: nil, limit: 10)
    #expect(page.devices.map(\.token.text) == [one, two, three].map(\.lower).sorted())
    try await store(fixture, one.upper, "form-gone", at: 6)
    #expect(try await fixture.registry.unregister(token: DeviceToken(one.upper), username: "form-gone").metadata == 1)
    #expect(try await fixture.registry.forget(token: DeviceToken(two.upper)))
    let exchanged = try await fixture.registry.replace(
      token: DeviceToken(three.upper), with: DeviceToken(new.upper), of: "form-gone", now: 8
    ).device
    #expect(exchanged?.token.text == new.lower)
    try await expectOnly(new, of: "form-gone", fixture)
    for token in [one, two, three] {
      #expect(try await fixture.metadata(token.lower) == nil)
      #expect(try await fixture.metadata(token.upper) == nil)
    }
  }

  @Test func `an android device keeps its token, and is found under it`() async throws {
    let fixture = try await Fixture()
    let token = token("android")
    try await store(fixture, token.upper, "form-android", at: 5, platform: "android")
    for query in [
      DeviceQuery.user("form-android"), .token(DeviceToken(token.lower)),
      .userToken(user: "form-android", token: DeviceToken(token.lower)),
    ] {
      let devices = await fixture.resolve([query])[0].devices
      #expect(devices.map(\.token.text) == [token.upper])
      #expect(devices.map(\.platform) == [.android])
    }
    #expect(try await fixture.members("form-android") == [token.upper])
    #expect(try await fixture.registry.forget(token: DeviceToken(token.lower)))
    #expect(try await fixture.members("form-android").isEmpty)
  }

  @Test func `a user with a large set has each device once`() async throws {
    let fixture = try await Fixture()
    let tokens = (0..<600).map { token("large-\($0)") }
    for token in tokens {
      try await store(fixture, token.upper, "form-large", at: 5)
      try await store(fixture, token.lower, "form-large", at: 4)
    }
    let devices = await fixture.registry.resolve(.user("form-large")).devices
    #expect(Set(devices.map(\.token.text)) == Set(tokens.map(\.lower)))
    #expect(devices.count == 600)
    #expect(devices.allSatisfy { $0.updatedAt == 5 })
  }

  @Test func `an instance loses a device that another registers in another case`() async throws {
    let fixture = try await Fixture()
    let token = token("instance")
    let record = #"{"token":"\#(token.upper)","environment":"sandbox","updatedAt":1,"active":true}"#
    _ = try await fixture.run("SET", RegistryKeys.instance("form-old"), record)
    _ = try await fixture.run("SET", "martlet:instance:\(token.upper)", "form-old")
    #expect(await fixture.resolve([.instance("form-old")])[0].devices.map(\.token.text) == [token.lower])
    try await fixture.registry.register(
      instance: "form-new", InstanceRecord(token: DeviceToken(token.lower), environment: .sandbox, updatedAt: 2))
    #expect(await fixture.resolve([.instance("form-old")])[0].devices.isEmpty)
    #expect(await fixture.resolve([.instance("form-new")])[0].devices.map(\.token.text) == [token.lower])
  }

  @Test func `nothing is told of a device that is brought to its form`() async throws {
    let fixture = try await Fixture(writesEvents: true)
    let token = token("untold")
    try await store(fixture, token.upper, "form-untold", at: 5)
    #expect(await fixture.resolve([.user("form-untold")])[0].devices.count == 1)
    #expect(try await fixture.events(of: token.lower).isEmpty)
    #expect(try await fixture.events(of: token.upper).isEmpty)
  }
}

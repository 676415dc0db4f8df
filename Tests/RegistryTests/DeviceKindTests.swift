import EventLoop
import JSON
import PushModel
import Redis
import Registry
import RegistrySupport
import Testing

/// A phone has a token for each kind, and all of them have one owner.
@EventLoop
@Suite(.inEveryWay)
struct DeviceKindTests {
  private func registration(
    _ token: String, _ user: String, _ kind: DeviceKind?, phone: String? = nil, app: String = "com.kind",
    now: Int64 = 5
  ) -> Registration {
    Registration(
      token: DeviceToken(token), username: Username(user), platform: .ios, bundleID: app, kind: kind, deviceID: phone,
      now: now)
  }

  @Test func `only devices of kind app are in the audience of their app`() async throws {
    let fixture = try await Fixture()
    let (app, voip) = (fixture.token("kind-app"), fixture.token("kind-voip"))
    try await fixture.registry.register(registration(app, "kind-both", nil))
    try await fixture.registry.register(registration(voip, "kind-both", .voip))
    #expect(try await fixture.members("kind-both") == [app, voip])
    #expect(try await fixture.audience("com.kind", of: app))
    #expect(try await !fixture.audience("com.kind", of: voip))
    #expect(try await fixture.metadata(voip)?.kind == .voip)
    #expect(try await fixture.metadata(app)?.kind == .app)
    // A registration that names no kind keeps the known one.
    try await fixture.registry.register(registration(voip, "kind-both", nil, now: 6))
    #expect(try await fixture.metadata(voip)?.kind == .voip)
    try await fixture.registry.register(registration(voip, "kind-both", .app, now: 7))
    #expect(try await fixture.audience("com.kind", of: voip))
  }

  @Test func `a token of push to talk is kept for a day`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("kind-talk")
    try await fixture.registry.register(registration(token, "talker", .pushtotalk))
    let lifetime = try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer ?? 0
    #expect((1...86_400).contains(lifetime))
  }

  @Test func `each kind of device has the maximum of its own`() async throws {
    let fixture = try await Fixture(maximumDevices: 1)
    let (app, voip, other) = (fixture.token("each-app"), fixture.token("each-voip"), fixture.token("each-other"))
    try await fixture.registry.register(registration(app, "each", .app))
    try await fixture.registry.register(registration(voip, "each", .voip, now: 6))
    #expect(try await fixture.members("each") == [app, voip])
    try await fixture.registry.register(registration(other, "each", .voip, now: 7))
    #expect(try await fixture.members("each") == [app, other])
  }

  @Test func `the tokens of a phone change hands with its app token`() async throws {
    let fixture = try await Fixture()
    let names = ["app", "voip", "widgets", "tablet", "loose"]
    let tokens = Dictionary(uniqueKeysWithValues: names.map { ($0, fixture.token("hand-\($0)")) })
    func token(_ name: String) throws -> String { try #require(tokens[name]) }
    for (name, kind) in [("app", DeviceKind.app), ("voip", .voip), ("widgets", .widgets)] {
      try await fixture.registry.register(registration(try token(name), "hand-ann", kind, phone: "phone-1"))
    }
    try await fixture.registry.register(registration(try token("tablet"), "hand-ann", .app, phone: "phone-2"))
    try await fixture.registry.register(registration(try token("loose"), "hand-ann", .voip))
    let former = try await fixture.registry.register(registration(try token("app"), "hand-bob", nil, now: 9))
    #expect(former.previousOwner == "hand-ann")
    let (ann, bob) = (try await fixture.members("hand-ann"), try await fixture.members("hand-bob"))
    #expect(bob == [try token("app"), try token("voip"), try token("widgets")])
    #expect(ann == [try token("tablet"), try token("loose")])
    #expect(try await fixture.metadata(try token("voip"))?.username == "hand-bob")
    // A voip token alone is no phone.
    try await fixture.registry.register(registration(try token("voip"), "hand-eve", nil, now: 10))
    #expect(try await fixture.members("hand-bob") == [try token("app"), try token("widgets")])
  }

  @Test func `nobody takes a phone whose token they do not have`() async throws {
    let fixture = try await Fixture()
    let (own, other) = (fixture.token("name-own"), fixture.token("name-other"))
    try await fixture.registry.register(registration(own, "name-ann", .app))
    try await fixture.registry.register(registration(other, "name-ann", .voip, phone: "phone-9"))
    try await fixture.registry.register(registration(own, "name-eve", .app, phone: "phone-9", now: 6))
    #expect(try await fixture.members("name-ann") == [other])
  }

  // MARK: - Environment

  private func learn(_ environment: PushEnvironment, _ device: Device, _ fixture: Fixture) async throws -> Int {
    try await withCheckedContinuation { continuation in
      fixture.registry.learn([AnsweredDevice(device, .accepted(environment))]) { continuation.resume(returning: $0) }
    }.get()
  }

  @Test func `an environment is learned unless the device was registered again`() async throws {
    let fixture = try await Fixture(writesEvents: true)
    let token = fixture.token("learn")
    try await fixture.registry.register(registration(token, "learner", nil))
    let unknown = try #require(await fixture.resolve([.token(DeviceToken(token))])[0].devices.first)
    #expect(unknown.environment == nil)
    #expect(try await learn(.sandbox, unknown, fixture) == 1)
    let known = try #require(await fixture.resolve([.token(DeviceToken(token))])[0].devices.first)
    #expect(known.environment == .sandbox)
    #expect(known.updatedAt == 5)
    // It was read before it was learned.
    #expect(try await learn(.production, unknown, fixture) == 0)
    #expect(try await fixture.metadata(token)?.environment == .sandbox)
    #expect(try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer ?? 0 > 31_500_000)
    #expect(try await learn(.production, known, fixture) == 1)
    let events = try await fixture.events(of: token).map { $0["type"]?.string }
    #expect(events == ["token.registered", "device.corrected"])
    try await fixture.registry.register(registration(token, "learner", nil, now: 8))
    #expect(try await learn(.sandbox, known, fixture) == 0)
  }

  // MARK: - The default app

  @Test func `devices without an app get the default app once, and join its audience`() async throws {
    let fixture = try await Fixture()
    let (bare, named, anonymous) = (fixture.token("bare"), fixture.token("named"), fixture.token("bare-nobody"))
    _ = try await fixture.register(bare, "bare-user", app: nil)
    _ = try await fixture.register(named, "bare-user", app: "com.other")
    _ = try await fixture.run("SET", RegistryKeys.token(entry: anonymous), #"{"username":"bare-user","updatedAt":3}"#)
    var cursors = (0..<fixture.registry.serverCount).map { ($0, Optional("0")) }
    while let (server, from) = cursors.popLast() {
      guard let from else { continue }
      let part = try await fixture.registry.tidy(app: "com.default", server: server, from: from)
      cursors.append((server, part.next))
    }
    for token in [bare, anonymous] {
      #expect(try await fixture.metadata(token)?.bundleID == "com.default")
      #expect(try await fixture.audience("com.default", of: token))
    }
    #expect(try await fixture.metadata(named)?.bundleID == "com.other")
    #expect(try await fixture.registry.assume(app: "com.another", for: [bare, named]) == 0)
  }

  @Test func `one process at a time looks for devices without an app`() async throws {
    let fixture = try await Fixture()
    _ = try await fixture.run("DEL", "martlet:{registry}:walk")
    #expect(try await fixture.registry.claimWalk(forApp: "com.default", seconds: 60))
    #expect(try await !fixture.registry.claimWalk(forApp: "com.default", seconds: 60))
  }
}

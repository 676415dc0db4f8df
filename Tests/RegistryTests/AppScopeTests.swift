import EventLoop
import PushModel
import RegistrySupport
import Testing

@testable import Registry

/// Whose device a token is, by the app, is decided in the step that changes it.
@EventLoop
@Suite(.inEveryWay)
struct AppScopeTests {
  private func scope(_ app: String) -> AppScope { AppScope([app], else: nil) }

  private func registration(_ token: String, _ user: String, _ app: String, phone: String? = nil) -> Registration {
    Registration(
      token: DeviceToken(token), username: Username(user), platform: .ios, bundleID: app, deviceID: phone, now: 10)
  }

  @Test func `a token that the key of another app registers between look and write stays that app's`() async throws {
    let fixtures = [try await Fixture(), try await Fixture()]
    let token = fixtures[0].token("scope-raced")
    // On one server this process knows of the token that it is free, and does not read it again.
    _ = try await fixtures[0].register(token, "scope-a", app: "com.a")
    #expect(try await fixtures[0].registry.forget(token: DeviceToken(token), within: scope("com.a")))
    let other = try await fixtures[1].registry.register(registration(token, "scope-b", "com.b"), within: scope("com.b"))
    #expect(other?.device.bundleID == "com.b")
    let own = try await fixtures[0].registry.register(registration(token, "scope-a", "com.a"), within: scope("com.a"))
    #expect(own == nil)
    #expect(try await fixtures[0].metadata(token)?.username == "scope-b")
    #expect(try await fixtures[0].members("scope-a").isEmpty)
    #expect(try await fixtures[0].members("scope-b") == [token])
  }

  @Test func `what is refused because the token has become another app's removes nothing`() async throws {
    let fixtures = [try await Fixture(), try await Fixture()]
    let (former, token) = (fixtures[0].token("scope-former"), fixtures[0].token("scope-taken"))
    for known in [former, token] {
      let registration = registration(known, "scope-g", "com.a", phone: "scope-phone-g")
      #expect(try await fixtures[0].registry.register(registration, within: scope("com.a")) != nil)
      if known == token { #expect(try await fixtures[0].registry.forget(token: DeviceToken(known))) }
    }
    try await fixtures[0].registry.register(registration(former, "scope-g", "com.a", phone: "scope-phone-g"))
    _ = try await fixtures[1].registry.register(registration(token, "scope-h", "com.b"), within: scope("com.b"))
    let refused = try await fixtures[0].registry.register(
      registration(token, "scope-g", "com.a", phone: "scope-phone-g"), within: scope("com.a"))
    #expect(refused == nil)
    #expect(try await fixtures[0].members("scope-g") == [former])
    #expect(try await fixtures[0].members("scope-h") == [token])
  }

  @Test func `a token is not replaced, and replaces none, by a key of another app`() async throws {
    let fixture = try await Fixture()
    let (own, foreign, free) = (fixture.token("scope-own"), fixture.token("scope-foreign"), fixture.token("scope-free"))
    _ = try await fixture.register(own, "scope-c", app: "com.a")
    _ = try await fixture.register(foreign, "scope-c", app: "com.b")
    func replace(_ current: String, _ new: String) async throws -> Replacement {
      try await fixture.registry.replace(
        token: DeviceToken(current), with: DeviceToken(new), of: "scope-c", within: scope("com.a"), now: 20)
    }
    #expect(try await replace(own, foreign) == .foreign)
    #expect(try await replace(foreign, free) == .notFound)
    #expect(try await replace(foreign, foreign) == .foreign)
    #expect(try await fixture.members("scope-c") == [own, foreign])
    let gone = try await fixture.registry.unregister(
      token: DeviceToken(foreign), username: "scope-c", within: scope("com.a"))
    #expect((gone.entries, gone.metadata) == (0, 0))
    #expect(try await !fixture.registry.forget(token: DeviceToken(foreign), within: scope("com.a")))
    guard case .done(let device) = try await replace(own, free) else {
      Issue.record("it was not replaced")
      return
    }
    #expect(device.token.text == free)
    #expect(try await fixture.members("scope-c") == [free, foreign])
  }

  @Test func `a phone brings along only tokens of the key's apps`() async throws {
    let fixture = try await Fixture()
    let kinds = [("com.a", DeviceKind.app), ("com.b", .app), ("com.b", .voip)]
    let tokens = kinds.enumerated().map { ($1.0, fixture.token("scope-phone-\($0)")) }
    for ((app, kind), token) in zip(kinds, tokens.map(\.1)) {
      try await fixture.registry.register(
        Registration(
          token: DeviceToken(token), username: "scope-d", platform: .ios, bundleID: app, kind: kind,
          deviceID: "scope-phone", now: 1))
    }
    _ = try await fixture.registry.register(registration(tokens[1].1, "scope-e", "com.b"), within: scope("com.b"))
    #expect(try await fixture.members("scope-d") == [tokens[0].1])
    #expect(try await fixture.members("scope-e") == [tokens[1].1, tokens[2].1])
    // What is refused brings nothing along.
    let refused = try await fixture.registry.register(
      registration(tokens[1].1, "scope-f", "com.c"), within: scope("com.c"))
    #expect(refused == nil)
    #expect(try await fixture.members("scope-e") == [tokens[1].1, tokens[2].1])
  }
}

/// Without Redis.
struct AppScopeDecisionTests {
  private static let other = DeviceMetadata(username: "ann", platform: .ios, updatedAt: 5, bundleID: "com.b")
  private static let nobodys = DeviceMetadata(username: "ann", platform: .ios, updatedAt: 5)

  @Test(
    arguments: [
      (nil, nil, true, false), (other, nil, false, false), (nobodys, nil, true, false), (nobodys, "com.a", true, true),
      (nobodys, "com.b", false, false),
    ] as [(DeviceMetadata?, String?, Bool, Bool)])
  func `a scope decides by the app of the device, else the configured one`(
    metadata: DeviceMetadata?, fallback: String?, mayRegister: Bool, mayFind: Bool
  ) {
    let scope = AppScope(["com.a"], else: fallback)
    let stored = StoredDevice(TokenModel.token, metadata?.json() ?? [])
    let registration = DeviceOperation.register(
      Registration(
        token: DeviceToken(TokenModel.token), username: "ann", platform: .ios, bundleID: "com.a", now: 9))
    #expect(registration.within(scope).decide(stored).isForeign == !mayRegister)
    #expect(registration.within(nil).decide(stored) == registration.decide(stored))
    #expect(DeviceOperation.forget.within(scope).decide(stored).isForeign == !mayFind)
    // Whoever may register a token is told that it is not registered, not that it is another app's.
    #expect(DeviceOperation.renew("ann", now: 9).within(scope).decide(stored).isForeign == !mayRegister)
  }

  @Test func `of two keys that register one token in steps the second to write is refused, wherever the first comes`() {
    func operation(_ user: String, _ app: String) -> DeviceOperation {
      DeviceOperation.register(
        Registration(
          token: DeviceToken(TokenModel.token), username: Username(user), platform: .ios, bundleID: app, now: 9)
      ).within(AppScope([app], else: nil))
    }
    var refusals = 0
    for steps in 0...20 {
      var (model, actor) = (TokenModel(metadata: nil), SteppedActor(operation("a", "x"), number: 1))
      for _ in 0..<steps where !actor.isDone { actor.advance(&model) }
      let other = model.run(operation("b", "y"), number: 2)
      while !actor.isDone { actor.advance(&model) }
      #expect(actor.end == (model.device.app == "x" ? .written : .foreign))
      #expect(other == (model.device.app == "y" ? .written : .foreign))
      #expect(model.isSettled)
      if actor.end == .foreign { refusals += 1 }
    }
    #expect((2...19).contains(refusals))
  }
}

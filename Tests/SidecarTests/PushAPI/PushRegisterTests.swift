import EventLoop
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import PushModel

@EventLoop
struct PushRegisterTests {
  private func fixture() async throws -> SidecarFixture {
    try await SidecarFixture {
      $0.bundleID = "com.push.app"
    }
  }

  @Test func `a device is registered with the configured app, and with what it says`() async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("reg-new"), try await fixture.user("reg-alice"))
    let answer = try await fixture.push(
      "register", alice,
      #"{"token":" \#(token) ","platform":"IOS","environment":"development","kind":"app","deviceId":"phone-1"}"#)
    #expect(answer.status == 200)
    #expect(answer.body == #"{"success":true,"token":"\#(token)","platform":"ios"}"#)
    #expect(answer.headers["content-type"] == "application/json")
    #expect(try await fixture.members("reg-alice") == [token])
    #expect(try await fixture.audience("com.push.app", of: token))
    let metadata = try await fixture.metadata(token)
    #expect(metadata?.username == "reg-alice")
    #expect(metadata?.environment == .sandbox)
    #expect(metadata?.deviceID == "phone-1")
    #expect(metadata?.bundleID == "com.push.app")
    #expect((metadata?.updatedAt ?? 0) > 1_700_000_000_000)
    #expect(try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer ?? 0 > 31_500_000)
  }

  @Test func `without an environment none is stored, and a stored one stays`() async throws {
    let fixture = try await SidecarFixture()
    let (token, alice) = (fixture.token("reg-where"), try await fixture.user("reg-where"))
    #expect(try await fixture.push("register", alice, #"{"token":"\#(token)"}"#).status == 200)
    #expect(try await fixture.metadata(token)?.environment == nil)
    try await fixture.backend.registry.register(
      Registration(token: DeviceToken(token), username: "reg-where", platform: .ios, environment: .sandbox, now: 1))
    #expect(try await fixture.push("register", alice, #"{"token":"\#(token)"}"#).status == 200)
    #expect(try await fixture.metadata(token)?.environment == .sandbox)
  }

  @Test func `a body of any content type is read`() async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("reg-type"), try await fixture.user("reg-type"))
    for type in ["text/plain", "application/x-www-form-urlencoded", "nonsense", ""] {
      let answer = try await fixture.push(
        "register", alice.merging(["Content-Type": type]) { a, _ in a }, #"{"token":"\#(token)","platform":"android"}"#)
      #expect(answer.status == 200)
      #expect(try await fixture.metadata(token)?.platform == .android)
    }
  }

  @Test func `the default app does not replace a known one, an app that is named does`() async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("reg-known"), try await fixture.user("reg-known"))
    try await fixture.backend.registry.register(
      Registration(token: DeviceToken(token), username: "reg-known", platform: .ios, bundleID: "com.push.other", now: 1)
    )
    #expect(try await fixture.push("register", alice, #"{"token":"\#(token)"}"#).status == 200)
    #expect(try await fixture.metadata(token)?.bundleID == "com.push.other")
    let named = #"{"token":"\#(token)","bundleId":"com.push.third"}"#
    #expect(try await fixture.push("register", alice, named).status == 200)
    #expect(try await fixture.metadata(token)?.bundleID == "com.push.third")
  }

  @Test(arguments: [
    (#""environment":"staging""#, "Invalid environment"), (#""environment":1"#, "Invalid environment"),
    (#""kind":"VoIP""#, "Invalid kind"), (#""kind":[]"#, "Invalid kind"),
    (#""deviceId":"a b""#, "Invalid deviceId"), (#""deviceId":7"#, "Invalid deviceId"),
    (#""bundleId":"a/b""#, "Invalid bundleId"),
  ])
  func `what a registration says of its device is checked`(member: String, error: String) async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("reg-checked"), try await fixture.user("reg-checked"))
    let answer = try await fixture.push("register", alice, #"{"token":"\#(token)",\#(member)}"#)
    #expect(answer.status == 400)
    #expect(answer.body == #"{"error":"\#(error)"}"#)
    #expect(try await fixture.metadata(token) == nil)
  }

  @Test func `the tokens of a phone change hands together, each for its kind`() async throws {
    let fixture = try await fixture()
    let (app, voip) = (fixture.token("hand-app"), fixture.token("hand-voip"))
    let (alice, bob) = (try await fixture.user("hand-alice"), try await fixture.user("hand-bob"))
    for (token, kind) in [(app, "app"), (voip, "voip")] {
      let body = #"{"token":"\#(token)","kind":"\#(kind)","deviceId":"phone-7"}"#
      #expect(try await fixture.push("register", alice, body).status == 200)
    }
    #expect(try await fixture.members("hand-alice") == [app, voip])
    #expect(try await fixture.push("register", bob, #"{"token":"\#(app)"}"#).status == 200)
    #expect(try await fixture.members("hand-alice").isEmpty)
    #expect(try await fixture.members("hand-bob") == [app, voip])
    #expect(try await fixture.metadata(voip)?.kind == .voip)
  }

  @Test func `a device of another user is transferred`() async throws {
    let fixture = try await fixture()
    let token = fixture.token("reg-moved")
    let (alice, bob) = (try await fixture.user("reg-before"), try await fixture.user("reg-after"))
    #expect(try await fixture.push("register", alice, #"{"token":"\#(token)"}"#).status == 200)
    #expect(try await fixture.push("register", bob, #"{"token":"\#(token)"}"#).status == 200)
    #expect(try await fixture.members("reg-before").isEmpty)
    #expect(try await fixture.members("reg-after") == [token])
    #expect(try await fixture.metadata(token)?.username == "reg-after")
  }

  @Test func `of two users who register one token at once exactly one owns it`() async throws {
    let fixture = try await fixture()
    let users = ["reg-race-1", "reg-race-2"]
    let (one, other) = (try await fixture.user(users[0]), try await fixture.user(users[1]))
    for round in 0..<25 {
      let body = #"{"token":"\#(fixture.token("race-\(round)"))"}"#
      async let first = fixture.push("register", one, body)
      async let second = fixture.push("register", other, body)
      #expect(try await [first.status, second.status] == [200, 200])
    }
    for round in 0..<25 {
      let token = fixture.token("race-\(round)")
      let owner = try #require(try await fixture.metadata(token)?.username)
      for user in users { #expect(try await fixture.members(Username(user)).contains(token) == (user == owner.text)) }
    }
  }
}

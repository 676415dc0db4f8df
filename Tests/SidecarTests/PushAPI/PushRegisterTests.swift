import EventLoop
import Redis
import Registry
import Sidecar
import TestSupport
import Testing
@testable import PushModel

@EventLoop
struct PushRegisterTests {
  private func fixture() async throws -> SidecarFixture {
    try await SidecarFixture {
      $0.bundleID = "com.push.app"
      $0.registrationEnvironment = .sandbox
    }
  }

  @Test func `a device is registered with the configured app and environment`() async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("reg-new"), try await fixture.user("reg-alice"))
    let answer = try await fixture.push("register", alice, #"{"token":" \#(token) ","platform":"IOS"}"#)
    #expect(answer.status == 200)
    #expect(answer.body == #"{"success":true,"token":"\#(token)","platform":"ios"}"#)
    #expect(answer.headers["content-type"] == "application/json")
    #expect(try await fixture.members("reg-alice") == [token])
    #expect(try await fixture.audience("com.push.app", of: token))
    let metadata = try await fixture.metadata(token)
    #expect(metadata?.username == "reg-alice")
    #expect(metadata?.environment == .sandbox)
    #expect(metadata?.bundleID == "com.push.app")
    #expect((metadata?.updatedAt ?? 0) > 1_700_000_000_000)
    #expect(try await fixture.run("TTL", RegistryKeys.token(token)).integer ?? 0 > 31_500_000)
  }

  @Test func `without a configured environment no environment is stored, and a stored one stays`() async throws {
    let fixture = try await SidecarFixture()
    let (token, alice) = (fixture.token("reg-where"), try await fixture.user("reg-where"))
    #expect(try await fixture.push("register", alice, #"{"token":"\#(token)"}"#).status == 200)
    #expect(try await fixture.metadata(token)?.environment == nil)
    try await fixture.backend.registry.register(
      Registration(token: token, username: "reg-where", platform: .ios, environment: .sandbox, now: 1))
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
      for user in users { #expect(try await fixture.members(user).contains(token) == (user == owner)) }
    }
  }
}

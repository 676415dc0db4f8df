import EventLoop
import HTTPServer
import JSON
import PushModel
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import Credentials

/// Credentials that are bound to apps.
@EventLoop
struct AppBindingTests {
  // MARK: - API keys

  /// A client whose key is for these apps, named without their unique part.
  private func client(
    apps: [String], _ adapt: (inout SidecarConfiguration) -> Void = { _ in }
  ) async throws -> (client: APIClient, headers: [String: String]) {
    let client = try await APIClient(adapt)
    let secret = "bound-" + client.key
    let credential = Credential(
      kind: .key, name: client.unique("bound"), digest: Credential.digest(of: secret), createdAt: 1,
      apps: AppBinding(Set(apps.map(client.app))))
    #expect(try await client.fixture.backend.credentials.add(credential) == nil)
    return (client, ["X-API-Key": secret])
  }

  private func device(_ token: String, _ user: String, app: String? = nil) -> String {
    let bundle = app.map { #","bundleId":"\#($0)""# } ?? ""
    return #"{"deviceToken":"\#(token)","userId":"\#(user)"\#(bundle)}"#
  }

  @Test func `a key of one app registers devices for it, named or not, and for no other`() async throws {
    let (client, headers) = try await client(apps: ["a"]) { $0.bundleID = "com.example.configured" }
    let user = client.unique("alice")
    let (named, unnamed) = (client.token("named"), client.token("unnamed"))
    let answer = try await client.send("POST", "/devices", device(named, user, app: client.app("a")), headers)
    #expect(answer.status == 201)
    #expect(try await client.send("POST", "/devices", device(unnamed, user), headers).status == 201)
    for token in [named, unnamed] { #expect(try await client.metadata(token)?.bundleID == client.app("a")) }
    let other = client.token("other")
    let refused = try await client.send("POST", "/devices", device(other, user, app: client.app("b")), headers)
    refused.isError(403, "Forbidden")
    refused.isCrossOrigin()
    #expect(try await client.metadata(other) == nil)
    await client.stop()
  }

  @Test func `a key of several apps must name one, unless the configured one is among them`() async throws {
    let (client, headers) = try await client(apps: ["a", "b"])
    let body = device(client.token("d"), client.unique("alice"))
    try await client.send("POST", "/devices", body, headers).isError(400, "Invalid bundleId")
    let named = device(client.token("d"), client.unique("alice"), app: client.app("b"))
    #expect(try await client.send("POST", "/devices", named, headers).status == 201)
    await client.stop()
  }

  @Test func `a key cannot take, replace, delete or list the devices of another app`() async throws {
    let (client, headers) = try await client(apps: ["a"])
    let user = client.unique("alice")
    let (own, foreign, free) = (client.token("own"), client.token("foreign"), client.token("free"))
    try await client.register(own, Username(user), app: client.app("a"))
    try await client.register(foreign, Username(user), app: client.app("b"))
    let before = try await client.metadata(foreign)
    let take = device(foreign, client.unique("mallory"), app: client.app("a"))
    try await client.send("POST", "/devices", take, headers).isError(403, "Forbidden")
    let replace = #"{"currentToken":"\#(foreign)","newToken":"\#(free)","userId":"\#(user)"}"#
    try await client.send("PUT", "/devices", replace, headers).isError(404, "Device not found")
    let onto = #"{"currentToken":"\#(own)","newToken":"\#(foreign)","userId":"\#(user)"}"#
    try await client.send("PUT", "/devices", onto, headers).isError(403, "Forbidden")
    try await client.send("DELETE", "/devices/\(foreign)", nil, headers).isError(404, "Device not found")
    #expect(try await client.metadata(foreign) == before)
    let list = try await client.send("GET", "/devices?userId=\(user)", nil, headers)
    #expect(list.json?["devices"]?.array?.map { $0["deviceToken"]?.string } == [own])
    let moved = #"{"currentToken":"\#(own)","newToken":"\#(free)","userId":"\#(user)"}"#
    #expect(try await client.send("PUT", "/devices", moved, headers).status == 200)
    #expect(try await client.send("DELETE", "/devices/\(free)", nil, headers).status == 200)
    await client.stop()
  }

  @Test func `of keys of different apps that register one token at once, only one gets it`() async throws {
    let (client, headers) = try await client(apps: ["a"])
    let secret = "second-" + client.key
    let other = Credential(
      kind: .key, name: client.unique("second"), digest: Credential.digest(of: secret), createdAt: 1,
      apps: AppBinding([client.app("b")]))
    #expect(try await client.fixture.backend.credentials.add(other) == nil)
    for token in (0..<20).map({ client.token("raced-\($0)") }) {
      let user = client.unique("racer")
      async let first = client.send("POST", "/devices", device(token, user), headers)
      async let second = client.send("POST", "/devices", device(token, user), ["X-API-Key": secret])
      let answers = [("a", try await first.status), ("b", try await second.status)]
      let app = try await client.metadata(token)?.bundleID
      for (name, status) in answers { #expect(status == (app == client.app(name) ? 201 : 403)) }
    }
    await client.stop()
  }

  @Test func `a phone whose token changes hands by a key of one app keeps its tokens of others`() async throws {
    let (client, headers) = try await client(apps: ["b"])
    let (alice, bob) = (client.unique("alice"), client.unique("bob"))
    let tokens = ["a", "b"].map { client.token("phone-\($0)") }
    for (token, app) in zip(tokens, ["a", "b"]) {
      _ = try await client.fixture.backend.registry.register(
        Registration(
          token: DeviceToken(token), username: Username(alice), platform: .ios, bundleID: client.app(app),
          deviceID: "phone",
          now: 1))
    }
    #expect(try await client.send("POST", "/devices", device(tokens[1], bob), headers).status == 201)
    #expect(try await client.metadata(tokens[1])?.username.text == bob)
    #expect(try await client.metadata(tokens[0])?.username.text == alice)
    await client.stop()
  }

  @Test func `a key of one app removes no device of another app, however many it registers`() async throws {
    let (client, headers) = try await client(apps: ["b"])
    let user = client.unique("alice")
    let own = client.token("own")
    try await client.register(own, Username(user), app: client.app("a"))
    let others = (0...Registry.defaultMaximumDevices).map { client.token("other-\($0)") }
    for token in others {
      #expect(try await client.send("POST", "/devices", device(token, user), headers).status == 201)
    }
    #expect(try await client.metadata(own)?.username.text == user)
    // The app's own oldest device has made room.
    #expect(try await client.metadata(others[0]) == nil)
    #expect(try await client.metadata(others[1])?.username.text == user)
    let answer = try await client.send("GET", "/devices?userId=\(user)&limit=100", nil, headers)
    #expect(answer.json?["devices"]?.array?.count == Registry.defaultMaximumDevices)
    await client.stop()
  }

  @Test func `pages of a list contain only the devices of the key's apps`() async throws {
    let (client, headers) = try await client(apps: ["a"])
    let user = client.unique("alice")
    let tokens = (0..<20).map { client.token("\($0)") }
    for (number, token) in tokens.enumerated() {
      try await client.register(token, Username(user), app: client.app(number % 3 == 0 ? "a" : "b"))
    }
    let own = Set(tokens.enumerated().filter { $0.offset % 3 == 0 }.map(\.element))
    var (found, next): ([String], String?) = ([], "")
    while let from = next {
      let query = "/devices?userId=\(user)&limit=2" + (from.isEmpty ? "" : "&nextToken=\(from)")
      let page = try await client.send("GET", query, nil, headers)
      found += page.json?["devices"]?.array?.compactMap { $0["deviceToken"]?.string } ?? []
      next = page.json?["nextToken"]?.string
      #expect(found.count < 30)
    }
    #expect(found.count == own.count)
    #expect(Set(found) == own)
    await client.stop()
  }

  @Test(arguments: ["/newtoken", "/newpush"])
  func `a broadcast goes to the apps of the key only`(path: String) async throws {
    let (client, headers) = try await client(apps: ["a"]) { $0.queue = "push:jobs:bound" }
    func body(_ app: String?) -> String {
      let bundle = app.map { #","bundleId":"\#(client.app($0))""# } ?? ""
      return #"{"token":"\#(client.token("t"))","body":"Hello"\#(bundle)}"#
    }
    _ = try await client.fixture.run("DEL", "push:jobs:bound")
    try await client.send("POST", path, body("b"), headers).isError(403, "Forbidden")
    #expect(try await client.fixture.run("LLEN", "push:jobs:bound").integer == 0)
    #expect(try await client.metadata(client.token("t")) == nil)
    #expect(try await client.send("POST", path, body("a"), headers).status == 200)
    #expect(try await client.send("POST", path, body(nil), headers).status == 200)
    if path == "/newpush" {
      let jobs = try await client.fixture.run("LRANGE", "push:jobs:bound", "0", "-1").array ?? []
      #expect(jobs.count == 2)
      #expect(jobs.allSatisfy { $0.string?.contains(client.app("a")) == true })
    } else {
      #expect(try await client.metadata(client.token("t"))?.bundleID == client.app("a"))
    }
    try await client.send("POST", path, body(nil)).isError(400, "Invalid bundleId")
    await client.stop()
  }

  @Test func `a key of one app takes no device that is registered for no app, which is of the configured one`()
    async throws
  {
    let (client, headers) = try await client(apps: ["b"]) { $0.bundleID = "com.example.configured" }
    let tokens = ["none", "foreign"].map(client.token)
    try await client.register(tokens[0], .nobody)
    try await client.register(tokens[1], .nobody, app: client.app("a"))
    for token in tokens {
      let before = try await client.metadata(token)
      let taken = try await client.send("POST", "/newtoken", #"{"token":"\#(token)"}"#, headers)
      #expect((taken.status, taken.body) == (200, #"{"success":true}"#))
      #expect(try await client.metadata(token) == before)
      #expect(try await !client.isAudience(client.app("b"), token))
    }
    await client.stop()
  }

  // MARK: - Users

  private func user(_ name: String, apps: [String], _ fixture: SidecarFixture) async throws -> [String: String] {
    _ = try await fixture.backend.credentials.revoke(.user, name)
    let secret = SidecarFixture.secret + name
    let credential = Credential(
      kind: .user, name: name, digest: Credential.digest(of: secret), createdAt: 1, apps: AppBinding(Set(apps)))
    #expect(try await fixture.backend.credentials.add(credential) == nil)
    return ["Authorization": "Bearer \(secret)", "X-Username": name]
  }

  private func register(_ token: String, _ name: String, _ app: String, _ fixture: SidecarFixture) async throws {
    try await fixture.backend.registry.register(
      Registration(token: DeviceToken(token), username: Username(name), platform: .ios, bundleID: app, now: 1000))
  }

  @Test func `a bound user registers devices for its app, and takes none of another`() async throws {
    let fixture = try await SidecarFixture { $0.bundleID = "com.configured" }
    let headers = try await user("bound-reg", apps: ["com.a"], fixture)
    let (own, foreign) = (fixture.token("bound-own"), fixture.token("bound-foreign"))
    #expect(try await fixture.push("register", headers, #"{"token":"\#(own)"}"#).status == 200)
    #expect(try await fixture.metadata(own)?.bundleID == "com.a")
    try await register(foreign, "somebody", "com.b", fixture)
    let refused = try await fixture.push("register", headers, #"{"token":"\#(foreign)"}"#)
    #expect(refused.status == 403)
    #expect(refused.body == #"{"error":"This user may not use this app"}"#)
    #expect(try await fixture.metadata(foreign)?.username == "somebody")
    let several = try await user("bound-several", apps: ["com.a", "com.b"], fixture)
    #expect(try await fixture.push("register", several, #"{"token":"\#(fixture.token("s"))"}"#).status == 403)
    let configured = try await user("bound-configured", apps: ["com.a", "com.configured"], fixture)
    let token = fixture.token("bound-configured")
    #expect(try await fixture.push("register", configured, #"{"token":"\#(token)"}"#).status == 200)
    #expect(try await fixture.metadata(token)?.bundleID == "com.configured")
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `a bound user unregisters and tests only devices of its app`() async throws {
    let sender = RecordingSender()
    let fixture = try await SidecarFixture(sender: sender)
    let name = "bound-tester"
    let headers = try await user(name, apps: ["com.a"], fixture)
    let (own, foreign) = (fixture.token("tested-own"), fixture.token("tested-foreign"))
    try await register(own, name, "com.a", fixture)
    try await register(foreign, name, "com.b", fixture)
    #expect(try await fixture.push("test", headers).status == 200)
    #expect(sender.calls.map(\.tokens) == [[own]])
    #expect(try await fixture.push("test", headers, #"{"token":"\#(foreign)"}"#).status == 403)
    let one = try await fixture.push("unregister", headers, #"{"token":"\#(foreign)"}"#)
    #expect(one.status == 200 && one["removed"] == 0)
    let all = try await fixture.push("unregister", headers)
    #expect(all["removed"] == 1 && all["metadataRemoved"] == 1 && all["removedUserTokenSet"] == 0)
    #expect(try await fixture.members(Username(name)) == [foreign])
    let unbound = try await fixture.user(name)
    #expect(try await fixture.push("unregister", unbound)["removed"] == 1)
    await fixture.sidecar.stop(grace: .seconds(1))
  }
}

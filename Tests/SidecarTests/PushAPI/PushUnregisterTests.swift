import EventLoop
import PushModel
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport

@EventLoop
struct PushUnregisterTests {
  private func body(
    removed: Int, metadata: Int, invalid: Int = 0, concurrency: Int = 0, set: Int = 0
  ) -> String {
    #"{"success":true,"removed":\#(removed),"metadataRemoved":\#(metadata),"invalidStoredTokensRemoved":\#(invalid),"#
      + #""skippedNonStringTokenCount":0,"pushMetadataLookupConcurrency":\#(concurrency),"removedUserTokenSet":\#(set)}"#
  }

  private func register(_ fixture: SidecarFixture, _ token: String, _ user: String, app: String? = nil) async throws {
    try await fixture.backend.registry.register(
      Registration(token: DeviceToken(token), username: Username(user), platform: .ios, bundleID: app, now: 1000))
  }

  @Test func `one device is removed, and a second time nothing`() async throws {
    let fixture = try await SidecarFixture()
    let (one, two, user) = (fixture.token("un-1"), fixture.token("un-2"), try await fixture.user("un-one"))
    for token in [one, two] { try await register(fixture, token, "un-one", app: "com.un.one") }
    let answer = try await fixture.push("unregister", user, #"{"token":" \#(one) "}"#)
    #expect(answer.status == 200)
    #expect(answer.body == body(removed: 1, metadata: 1))
    #expect(try await fixture.metadata(one) == nil)
    #expect(try await !fixture.audience("com.un.one", of: one))
    #expect(try await fixture.members("un-one") == [two])
    #expect(try await fixture.push("unregister", user, #"{"token":"\#(one)"}"#).body == body(removed: 0, metadata: 0))
  }

  @Test func `a device is removed and tested under the text with which it was registered`() async throws {
    let fixture = try await SidecarFixture()
    let (hex, user) = (fixture.token("un-forms"), try await fixture.user("un-forms"))
    let base64 = "ChssPU5fZ4kKGyw9Tl9niQobLD1OX2eJChssPU5fZ4k"
    for (text, platform) in [("0x\(hex)", "ios"), (base64, "ios"), (base64, "android")] {
      let body = #"{"token":"\#(text)","platform":"\#(platform)"}"#
      #expect(try await fixture.push("register", user, body).status == 200)
      #expect(try await fixture.members("un-forms").count == 1)
      let gone = try await fixture.push("unregister", user, #"{"token":"\#(text)"}"#)
      #expect(gone.body == self.body(removed: 1, metadata: 1), "\(text)")
      #expect(try await fixture.members("un-forms").isEmpty)
    }
  }

  @Test func `a device of another user keeps its owner`() async throws {
    let fixture = try await SidecarFixture()
    let (token, user) = (fixture.token("un-foreign"), try await fixture.user("un-stranger"))
    try await register(fixture, token, "un-owner")
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("un-stranger"), token)
    #expect(try await fixture.push("unregister", user, #"{"token":"\#(token)"}"#).body == body(removed: 1, metadata: 0))
    #expect(try await fixture.metadata(token)?.username == "un-owner")
    #expect(try await fixture.members("un-owner") == [token])
  }

  @Test(arguments: ["{}", "", #"{"other":true}"#])
  func `all devices are removed with the user's metadata, and invalid entries are counted`(
    request: String
  ) async throws {
    let fixture = try await SidecarFixture { $0.lookupConcurrency = 5 }
    let name = "un-all-\(request.utf8.count)"
    let user = try await fixture.user(name)
    let own = (1...3).map { fixture.token("\(name)-\($0)") }
    for (index, token) in own.enumerated() {
      try await register(fixture, token, name, app: index == 0 ? nil : "com.\(name).\(index)")
    }
    let (foreign, forgotten) = (fixture.token("\(name)-foreign"), fixture.token("\(name)-forgotten"))
    try await register(fixture, foreign, "\(name)-other")
    _ = try await fixture.run("SADD", RegistryKeys.userTokens(Username(name)), foreign, forgotten, "no token", "")
    let answer = try await fixture.push("unregister", user, request)
    #expect(answer.body == body(removed: 7, metadata: 3, invalid: 2, concurrency: 5, set: 1))
    for token in own { #expect(try await fixture.metadata(token) == nil) }
    #expect(try await !fixture.audience("com.\(name).1", of: own[1]))
    #expect(try await fixture.metadata(foreign)?.username == "\(name)-other")
    #expect(try await fixture.members("\(name)-other") == [foreign])
    #expect(try await fixture.run("EXISTS", RegistryKeys.userTokens(Username(name))).integer == 0)
    #expect(try await fixture.push("unregister", user, request).body == body(removed: 0, metadata: 0))
  }

  @Test func `with malformed entries only no owner is looked up`() async throws {
    let fixture = try await SidecarFixture()
    let user = try await fixture.user("un-malformed")
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("un-malformed"), "short", "with space in its middle")
    #expect(try await fixture.push("unregister", user).body == body(removed: 2, metadata: 0, invalid: 2))
  }

  @Test func `thousands of devices are removed in one request`() async throws {
    let fixture = try await SidecarFixture()
    let user = try await fixture.user("un-many")
    // More than a user may have: as another program writes them.
    let metadata = DeviceMetadata(username: "un-many", platform: .ios, updatedAt: 1, bundleID: "com.un.many")
    for token in (0..<2500).map({ fixture.token("many-\($0)") }) {
      let audience = RegistryKeys.audience("com.un.many", shard: AudienceShard.shard(of: token))
      _ = try await fixture.run(
        "SET", RegistryKeys.token(entry: token), String(decoding: metadata.json(), as: UTF8.self))
      _ = try await fixture.run("SADD", RegistryKeys.userTokens("un-many"), token)
      _ = try await fixture.run("ZADD", audience, "0", token)
    }
    #expect(
      try await fixture.push("unregister", user).body == body(removed: 2500, metadata: 2500, concurrency: 8, set: 1))
    #expect(try await fixture.run("KEYS", "push:token:token-many-*").array == [])
    #expect(try await fixture.run("KEYS", "push:app:com.un.many:*").array == [])
  }

  @Test func `malformed metadata is not deleted`() async throws {
    let fixture = try await SidecarFixture()
    let user = try await fixture.user("un-garbage")
    let tokens = (0..<4).map { fixture.token("un-garbage-\($0)") }
    for (token, garbage) in zip(tokens, ["{", "[]", #"{"username":7}"#, "null"]) {
      _ = try await fixture.run("SET", RegistryKeys.token(entry: token), garbage)
      _ = try await fixture.run("SADD", RegistryKeys.userTokens("un-garbage"), token)
    }
    #expect(
      try await fixture.push("unregister", user).body == body(removed: 4, metadata: 0, concurrency: 8, set: 1))
    #expect(try await fixture.run("GET", RegistryKeys.token(entry: tokens[0])).string == "{")
  }
}

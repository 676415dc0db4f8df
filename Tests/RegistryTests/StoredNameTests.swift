import Crypto
import EventLoop
import JSON
import PushModel
import Redis
import RegistrySupport
import TestSupport
import Testing

@testable import Registry

/// Other programs, and 2.0.0, store the name of a user in the form of Unicode in which it came.
@EventLoop
@Suite(.inEveryWay)
struct StoredNameTests {
  /// A name of this test in NFC, in NFD, and in a form that is neither.
  private struct Name {
    let composed: String
    let decomposed: String
    let mixed: String
    var user: Username { Username(composed) }

    init(_ test: String) {
      let end = "-\(test)-\(Way.current)".lowercased()
      (composed, decomposed, mixed) = ("\u{1ed9}" + end, "o\u{323}\u{302}" + end, "\u{f4}\u{323}" + end)
    }
  }

  private func token(_ name: String) -> String { SHA256.hex("\(Way.current)-stored-\(name)") }

  private func store(_ fixture: Fixture, _ token: String, _ name: String, in set: String? = nil, at time: Int64 = 5)
    async throws
  {
    _ = try await fixture.run("SADD", "push:user:\(set ?? name):tokens", token)
    let metadata = #"{"username":"\#(name)","platform":"ios","updatedAt":\#(time),"bundleId":"com.app"}"#
    _ = try await fixture.run("SET", RegistryKeys.token(entry: token), metadata, "EX", "1000")
    let audience = RegistryKeys.audience("com.app", shard: AudienceShard.shard(of: token))
    _ = try await fixture.run("ZADD", audience, "0", token)
  }

  private func expect(_ tokens: [String], of name: Name, _ fixture: Fixture) async throws {
    #expect(try await fixture.members(name.user) == Set(tokens))
    for form in [name.decomposed, name.mixed] {
      #expect(try await fixture.run("EXISTS", "push:user:\(form):tokens").integer == 0, "\(Array(form.utf8))")
    }
    for token in tokens {
      let stored = try await fixture.run("GET", RegistryKeys.token(entry: token)).bytes ?? []
      let text = try JSONValue(parsing: stored)["username"]?.string ?? ""
      #expect(text.utf8.elementsEqual(name.composed.utf8), "\(token)")
      #expect(try await fixture.audience("com.app", of: token))
    }
  }

  @Test func `a push reaches the devices under both forms of a name, and makes them one user's`() async throws {
    let (fixture, name) = (try await Fixture(), Name("push"))
    let tokens = [token("push-1"), token("push-2"), token("push-3")]
    try await store(fixture, tokens[0], name.composed)
    try await store(fixture, tokens[1], name.decomposed)
    // Registered by one form after the other: the token stayed in the set of the first.
    try await store(fixture, tokens[2], name.decomposed, in: name.composed)
    _ = try await fixture.run("SADD", "push:user:\(name.decomposed):tokens", tokens[2], "no token", token("push-4"))
    let found = await fixture.resolve([
      .user(name.user), .user("nobody"), .userToken(user: name.user, token: DeviceToken(tokens[1])),
    ])
    #expect(Set(found[0].devices.map(\.token.text)) == Set(tokens))
    #expect(found[1] == Resolution())
    #expect(found[2].devices.map(\.token.text) == [tokens[1]])
    try await expect(tokens, of: name, fixture)
    // Nobody has registered them again.
    for token in tokens { #expect(try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer ?? 0 <= 1000) }
    let again = await fixture.resolve([.user(name.user)])
    #expect(again[0].devices.count == 3 && again[0].removals.isEmpty)
  }

  @Test func `the set of another form may have a device of somebody else, who keeps it`() async throws {
    let (fixture, name) = (try await Fixture(), Name("foreign"))
    let (own, foreign) = (token("foreign-1"), token("foreign-2"))
    try await store(fixture, own, name.decomposed)
    try await store(fixture, foreign, "carol-\(Way.current)".lowercased(), in: name.decomposed)
    #expect(await fixture.resolve([.user(name.user)])[0].devices.map(\.token.text) == [own])
    try await expect([own], of: name, fixture)
    #expect(try await fixture.members("carol-\(Way.current)") == [foreign])
  }

  @Test(arguments: ["register", "list", "unregister", "replace"])
  func `each operation of a user meets the devices under the other form`(what: String) async throws {
    let (fixture, name) = (try await Fixture(), Name(what))
    let (known, new) = (token("\(what)-1"), token("\(what)-2"))
    try await store(fixture, known, name.decomposed)
    let registry = fixture.registry
    switch what {
    case "register":
      _ = try await fixture.register(new, name.user, app: "com.app", now: 9)
      try await expect([known, new], of: name, fixture)
    case "list":
      #expect(try await registry.devices(of: name.user, after: nil, limit: 9).devices.map(\.token.text) == [known])
      try await expect([known], of: name, fixture)
    case "unregister":
      let end = try await registry.unregister(token: DeviceToken(known), username: name.user)
      #expect(end.entries == 1 && end.metadata == 1)
      try await expect([], of: name, fixture)
    default:
      let device = try await registry.replace(token: DeviceToken(known), with: DeviceToken(new), of: name.user, now: 9)
      #expect(device.device?.token.text == new)
      try await expect([new], of: name, fixture)
    }
  }

  @Test func `a user of one form takes a device from one of another form, and nobody else has it then`() async throws {
    let (fixture, name) = (try await Fixture(), Name("taken"))
    let (device, eve) = (token("taken"), Username("eve-\(Way.current)"))
    try await store(fixture, device, name.decomposed)
    #expect(try await fixture.register(device, eve, app: "com.app", now: 9) == name.user)
    #expect(try await fixture.members(eve) == [device])
    #expect(await fixture.resolve([.user(name.user)])[0].devices.isEmpty)
    #expect(try await fixture.run("EXISTS", "push:user:\(name.decomposed):tokens").integer == 0)
  }

  @Test func `the walk gives every form of a name its one form`() async throws {
    let (fixture, name) = (try await Fixture(), Name("walk"))
    let tokens = [token("walk-1"), token("walk-2"), token("walk-3")]
    for (token, form) in zip(tokens, [name.composed, name.decomposed, name.mixed]) {
      try await store(fixture, token, form)
    }
    for server in 0..<fixture.registry.serverCount {
      var cursor: String? = "0"
      while let from = cursor { cursor = try await fixture.registry.tidy(app: nil, server: server, from: from).next }
    }
    try await expect(tokens, of: name, fixture)
  }
}

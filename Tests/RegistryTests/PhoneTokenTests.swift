import EventLoop
import JSON
import PushModel
import Redis
import Registry
import RegistrySupport
import Testing

/// A phone has one token of each kind: a new one replaces the former one.
@EventLoop
@Suite(.inEveryWay)
struct PhoneTokenTests {
  private let user: String
  private let fixture: Fixture

  init() async throws {
    user = "phone-\(UInt32.random(in: .min ... .max))"
    fixture = try await Fixture(writesEvents: true)
  }

  private func token(_ name: String) -> String { fixture.token("\(user)-\(name)") }

  private func register(
    _ name: String, _ kind: DeviceKind? = .app, phone: String? = "phone-1", app: String? = "com.phone",
    environment: PushEnvironment? = nil, activity: String? = nil, user: String? = nil, now: Int64 = 5
  ) async throws {
    try await fixture.registry.register(
      Registration(
        token: DeviceToken(token(name)), username: Username(user ?? self.user), platform: .ios, bundleID: app,
        environment: environment, kind: kind, deviceID: phone, activity: activity, now: now))
  }

  /// Of the names, those whose tokens are the user's.
  private func kept(_ names: String...) async throws -> [String] {
    let members = try await fixture.members(Username(user))
    return names.filter { members.contains(token($0)) }
  }

  @Test(arguments: DeviceKind.allCases)
  func `a new token of a phone replaces the former one of its kind, and an event says so`(kind: DeviceKind) async throws
  {
    let activity = [.activity, .pushtostart].contains(kind) ? "Trip" : nil
    try await register("a", kind, activity: activity)
    try await register("b", kind, activity: activity, now: 6)
    #expect(try await kept("a", "b") == ["b"])
    #expect(try await fixture.metadata(token("a")) == nil)
    let removal = try #require(await fixture.events(of: token("a")).last)
    #expect(removal["type"]?.string == "token.removed")
    #expect(removal["data"]?["reason"]?.string == "Replaced")
  }

  @Test func `what is of another phone, user, app, kind, environment or attributes type stays`() async throws {
    try await register("a", .pushtostart, environment: .production, activity: "Trip")
    try await register("phone", .pushtostart, phone: "phone-2", environment: .production, activity: "Trip")
    try await register("none", .pushtostart, phone: nil, environment: .production, activity: "Trip")
    try await register("app", .pushtostart, app: "com.other", environment: .production, activity: "Trip")
    try await register("kind", .app, environment: .production)
    try await register("sandbox", .pushtostart, environment: .sandbox, activity: "Trip")
    try await register("type", .pushtostart, environment: .production, activity: "Ride")
    let all = ["a", "phone", "none", "app", "kind", "sandbox", "type"]
    let members = try await fixture.members(Username(user))
    #expect(all.filter { !members.contains(token($0)) } == [])
    try await register("user", .pushtostart, environment: .production, activity: "Trip", user: user + "-other")
    #expect(try await fixture.members(Username(user)).count == all.count)
  }

  @Test func `a token whose environment is unknown is replaced, and replaces`() async throws {
    try await register("a", environment: .sandbox)
    try await register("b", now: 6)
    #expect(try await kept("a", "b") == ["b"])
    try await register("c", environment: .production, now: 7)
    #expect(try await kept("b", "c") == ["c"])
  }

  @Test func `a token that was replaced and registers again stays beside the other, for two phones have one id`()
    async throws
  {
    try await register("one")
    try await register("two", now: 6)
    try await register("one", now: 7)
    for now in 8...11 as ClosedRange<Int64> { try await register(now % 2 == 0 ? "two" : "one", now: now) }
    #expect(try await kept("one", "two") == ["one", "two"])
    // A new token of one of them is not known to be of which.
    try await register("three", now: 12)
    #expect(try await kept("one", "two", "three") == ["three"])
    try await register("two", now: 13)
    #expect(try await kept("one", "two", "three") == ["two", "three"])
  }

  @Test func `three phones with one id settle, too`() async throws {
    for now in 5...16 as ClosedRange<Int64> { try await register("\(now % 3)", now: now) }
    #expect(try await kept("0", "1", "2") == ["0", "1", "2"])
  }

  @Test func `a phone that comes to a user replaces the token that it had there`() async throws {
    try await register("old")
    try await register("new", user: user + "-other")
    try await register("new", now: 6)
    #expect(try await kept("old", "new") == ["new"])
  }

  @Test func `a token that follows its phone replaces the one that the phone had with its new user`() async throws {
    let other = user + "-other"
    try await register("call-old", .voip)
    try await register("app", user: other)
    try await register("call-new", .voip, user: other)
    try await register("app", now: 6)
    #expect(try await kept("app", "call-old", "call-new") == ["app", "call-new"])
    #expect(try await fixture.metadata(token("call-old")) == nil)
  }

  @Test func `many former tokens of a phone leave with the next one`() async throws {
    for number in 0..<40 {
      let metadata = DeviceMetadata(
        username: Username(user), platform: .ios, updatedAt: Int64(number), bundleID: "com.phone", deviceID: "phone-1")
      _ = try await fixture.run("SADD", RegistryKeys.userTokens(Username(user)), token("\(number)"))
      _ = try await fixture.run(
        "SET", RegistryKeys.token(entry: token("\(number)")), String(decoding: metadata.json(), as: UTF8.self))
    }
    try await register("new", now: 99)
    #expect(try await fixture.members(Username(user)) == [token("new")])
    // The latest are remembered: they are told from the phone when they come back.
    try await register("39", now: 100)
    #expect(try await kept("new", "39") == ["new", "39"])
  }
}

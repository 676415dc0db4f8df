import EventLoop
import PushModel
import Redis
import RegistrySupport
import Testing

@testable import Registry

/// The records of channels.
@EventLoop
struct ChannelsTests {
  private static let channel = Channel(
    "match-1", of: "com.a", storage: .newest, ids: [.production: "p==", .sandbox: "s=="])

  @Test func `a channel is read as it was written`() {
    #expect(Channel("match-1", of: "com.a", json: Self.channel.json) == Self.channel)
    #expect(
      String(decoding: Self.channel.json, as: UTF8.self) == #"{"storage":"newest","production":"p==","sandbox":"s=="}"#)
  }

  @Test(arguments: [
    "", "{}", "[]", #"{"storage":"some"}"#, #"{"storage":"none","production":1}"#,
    #"{"storage":"none","sandbox":"a b"}"#,
  ])
  func `other text is no channel`(text: String) {
    #expect(Channel("match-1", of: "com.a", json: Array(text.utf8)) == nil)
  }

  @Test(arguments: [
    ("", false), ("a b", false), ("a:b", false), ("Match_1.2-x", true), (String(repeating: "a", count: 65), false),
  ])
  func `a name fits into a key`(name: String, isName: Bool) {
    #expect(Channel.isName(name) == isName)
  }

  @Test func `ids are added for each environment and never replaced`() async throws {
    let fixture = try await Fixture()
    let channels = Channels(connection: fixture.redis)
    let app = "com.channels.add"
    #expect(try await channels.add("p", in: .production, storage: .none, to: "m", of: app) == .added)
    #expect(try await channels.add("p", in: .production, storage: .none, to: "m", of: app) == .added)
    #expect(try await channels.add("q", in: .production, storage: .none, to: "m", of: app) == .taken("p"))
    #expect(try await channels.add("s", in: .sandbox, storage: .newest, to: "m", of: app) == .otherStorage(.none))
    #expect(try await channels.add("s", in: .sandbox, storage: .none, to: "m", of: app) == .added)
    let channel = try await channels.channel("m", of: app)
    #expect(channel?.ids == [.production: "p", .sandbox: "s"])
    #expect(channel?.storage == ChannelStorage.none)
  }

  @Test func `of operators who create a channel at the same time each environment has one id`() async throws {
    let fixture = try await Fixture()
    let channels = Channels(connection: fixture.redis)
    let tasks = (0..<20).map { number in
      Task { @EventLoop in
        try await channels.add(
          "id\(number)", in: number % 2 == 0 ? .production : .sandbox, storage: .none, to: "m", of: "com.channels.race")
      }
    }
    var added = 0
    for task in tasks { if try await task.value == .added { added += 1 } }
    #expect(added == 2)
    #expect(try await channels.channel("m", of: "com.channels.race")?.ids.count == 2)
  }

  @Test func `the last id takes the record with it, and another id stays`() async throws {
    let fixture = try await Fixture()
    let channels = Channels(connection: fixture.redis)
    let app = "com.channels.remove"
    _ = try await channels.add("p", in: .production, storage: .none, to: "m", of: app)
    _ = try await channels.add("s", in: .sandbox, storage: .none, to: "m", of: app)
    try await channels.remove("other", in: .production, from: "m", of: app)
    try await channels.remove("s", in: .sandbox, from: "m", of: app)
    #expect(try await channels.channel("m", of: app)?.ids == [.production: "p"])
    try await channels.remove("p", in: .production, from: "m", of: app)
    #expect(try await fixture.run("EXISTS", RegistryKeys.channel("m", bundleID: app)).integer == 0)
  }

  @Test func `channels are listed by app and name, without records that cannot be read`() async throws {
    let fixture = try await Fixture()
    let channels = Channels(connection: fixture.redis)
    let app = "com.channels.list"
    for name in ["b", "a"] { _ = try await channels.add("id-\(name)", in: .sandbox, storage: .none, to: name, of: app) }
    _ = try await channels.add("x", in: .sandbox, storage: .none, to: "a", of: app + ".other")
    _ = try await fixture.run("SET", RegistryKeys.channel("broken", bundleID: app), "{")
    #expect(try await channels.list(of: app).map(\.name) == ["a", "b"])
    let all = try await channels.list().filter { $0.bundleID.hasPrefix(app) }
    #expect(all.map(\.bundleID) == [app, app, app + ".other"])
  }
}

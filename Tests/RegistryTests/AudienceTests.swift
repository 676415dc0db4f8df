import EventLoop
import PushModel
import Redis
import Registry
import RegistrySupport
import Testing

@EventLoop
@Suite(.inEveryWay)
struct AddresseeTests {
  private func readAll(_ fixture: Fixture, _ app: String, limit: Int) async throws -> (
    pages: [AudiencePage], cursors: [AudienceCursor]
  ) {
    var pages: [AudiencePage] = []
    var cursors: [AudienceCursor] = []
    var cursor: AudienceCursor? = .start
    while let from = cursor {
      let page = try await fixture.registry.audiencePage(of: app, from: from, limit: limit)
      pages.append(page)
      cursors.append(from)
      cursor = page.next
      try #require(pages.count < 1000)
    }
    return (pages, cursors)
  }

  @Test func `every device of an app is on exactly one page`() async throws {
    let fixture = try await Fixture(maximumDevices: 1000)
    let tokens = (0..<300).map { fixture.token("page-\($0)") }
    for token in tokens { _ = try await fixture.register(token, "pages", app: "com.pages") }
    for limit in [1, 7, 100, 500] {
      let (pages, _) = try await readAll(fixture, "com.pages", limit: limit)
      #expect(pages.flatMap(\.devices).map(\.token.text).sorted() == tokens.sorted())
      #expect(pages.allSatisfy { $0.devices.count <= max(limit, 2) })
    }
  }

  @Test func `reading continues from a stored cursor`() async throws {
    let fixture = try await Fixture()
    for index in 0..<50 { _ = try await fixture.register(fixture.token("resume-\(index)"), "r", app: "com.resume") }
    let (pages, cursors) = try await readAll(fixture, "com.resume", limit: 10)
    for (page, cursor) in zip(pages, cursors) {
      let restored = try #require(AudienceCursor(cursor.description))
      #expect(try await fixture.registry.audiencePage(of: "com.resume", from: restored, limit: 10) == page)
    }
  }

  @Test func `an app without devices has one empty page`() async throws {
    let page = try await Fixture().registry.audiencePage(of: "com.without.devices", from: .start)
    #expect(page == AudiencePage(devices: [], removals: [], next: nil))
  }

  @Test func `entries without metadata and of other apps are removed and never sent to`() async throws {
    let fixture = try await Fixture()
    let good = fixture.token("app-good")
    let other = fixture.token("app-other")
    _ = try await fixture.register(good, "app", app: "com.clean")
    _ = try await fixture.register(other, "app", app: "com.other")
    for entry in [Array(other.utf8), Array(fixture.token("app-gone").utf8), [255, 0, 1], []] {
      let shard = AudienceShard.shard(of: entry)
      var command = RedisCommand("ZADD", RegistryKeys.audience("com.clean", shard: shard), "0")
      command.append(entry)
      _ = try await fixture.redis.send(command)
    }
    let (pages, _) = try await readAll(fixture, "com.clean", limit: 2)
    #expect(pages.flatMap(\.devices).map(\.token.text) == [good])
    let removals = pages.flatMap(\.removals)
    #expect(Set(removals.map(\.reason)) == [.otherApp, .noMetadata, .malformedToken])
    #expect(try await fixture.clean(app: "com.clean", removals) == 4)
    let page = try await fixture.registry.audiencePage(of: "com.clean", from: .start)
    #expect(page.devices.map(\.token.text) == [good])
    #expect(page.removals.isEmpty)
  }
}

import PushModel
import EventLoop
import Redis
import Registry
import RegistrySupport
import Testing

@EventLoop
@Suite(.inEveryWay)
struct UnregisterAllTests {
  @Test func `all devices of the user are removed, other owners' metadata is kept`() async throws {
    let fixture = try await Fixture()
    let (own, foreign) = (fixture.token("all-own"), fixture.token("all-foreign"))
    _ = try await fixture.register(own, "all", app: "com.all")
    _ = try await fixture.register(foreign, "all-other", app: "com.all")
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("all"), foreign, "no token")
    let result = try await fixture.registry.unregisterAll(username: "all")
    var expected = Unregistration(entries: 2, metadata: 1)
    expected.malformedEntries = 1
    expected.hasLookedUp = true
    expected.isSetGone = true
    #expect(result == expected)
    #expect(try await fixture.metadata(own) == nil)
    #expect(try await !fixture.audience("com.all", of: own))
    #expect(try await fixture.metadata(foreign)?.username == "all-other")
    #expect(try await fixture.audience("com.all", of: foreign))
    #expect(try await fixture.registry.unregisterAll(username: "all") == Unregistration())
  }

  @Test func `more devices than fit one script call`() async throws {
    let fixture = try await Fixture(maximumDevices: 1000)
    for index in 0..<701 { _ = try await fixture.register(fixture.token("bulk-\(index)"), "bulk", app: "com.bulk") }
    let result = try await fixture.registry.unregisterAll(username: "bulk")
    #expect(result.entries == 701)
    #expect(result.metadata == 701)
    #expect(result.isSetGone)
    #expect(try await fixture.run("KEYS", "push:app:com.bulk:*").array == [])
  }

  @Test func `registering and unregistering at the same time leaves a consistent state`() async throws {
    let fixture = try await Fixture()
    let tokens = (0..<40).map { fixture.token("churn-\($0)") }
    await withTaskGroup(of: Void.self) { group in
      for token in tokens {
        group.addTask { _ = try? await fixture.register(token, "churn", app: "com.churn") }
        group.addTask { _ = try? await fixture.registry.unregisterAll(username: "churn") }
      }
    }
    let members = try await fixture.members("churn")
    for token in tokens {
      let isThere = members.contains(token)
      #expect(try await (fixture.metadata(token) != nil) == isThere)
      #expect(try await fixture.audience("com.churn", of: token) == isThere)
    }
  }
}

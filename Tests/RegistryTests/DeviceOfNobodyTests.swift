import EventLoop
import PushModel
import Redis
import Registry
import RegistrySupport
import Testing

/// Anonymous devices, which are only in their app's audience.
@EventLoop
@Suite(.inEveryWay)
struct DeviceOfNobodyTests {
  @Test func `an anonymous device is in the audience and in no user's set`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("nobody")
    _ = try await fixture.register(token, "", app: "com.ownerless")
    #expect(try await fixture.metadata(token)?.username == "")
    #expect(try await fixture.members("").isEmpty)
    let page = try await fixture.registry.audiencePage(of: "com.ownerless", from: .start)
    #expect(page.devices.map(\.token.text) == [token])
    #expect(page.devices.first?.username == nil)
    #expect(page.removals.isEmpty)
    let named = await fixture.registry.resolve(.token(DeviceToken(token))).devices
    #expect(named.map(\.bundleID) == ["com.ownerless"])
  }

  @Test func `no user sees an anonymous device, even if a set contains it`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("unseen")
    _ = try await fixture.register(token, "", app: "com.unseen")
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("curious"), token)
    let all = await fixture.registry.resolve(.user("curious"))
    #expect(all.devices.isEmpty)
    #expect(all.removals.map(\.reason) == [.otherOwner])
    #expect(await fixture.registry.resolve(.userToken(user: "curious", token: DeviceToken(token))).devices.isEmpty)
    #expect(try await fixture.clean(user: "curious", all.removals) == 1)
    #expect(try await fixture.members("curious").isEmpty)
    #expect(try await fixture.audience("com.unseen", of: token))
  }

  @Test func `a user who registers it owns it, and keeps it when it is registered anonymously`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("found")
    _ = try await fixture.register(token, "", app: "com.found", now: 1)
    #expect(try await fixture.register(token, "finder", now: 2) == nil)
    #expect(try await fixture.members("finder") == [token])
    #expect(try await fixture.metadata(token)?.createdAt == 1)
    let before = try await fixture.metadata(token)
    _ = try await fixture.run("EXPIRE", RegistryKeys.token(entry: token), "1000")
    #expect(try await fixture.register(token, "", app: "com.later", now: 3) == nil)
    #expect(try await fixture.register(token, "", app: "com.found", now: 3) == nil)
    #expect(try await fixture.metadata(token) == before)
    #expect(try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer ?? 0 <= 1000)
    #expect(try await fixture.members("finder") == [token])
    #expect(try await fixture.audience("com.found", of: token))
    #expect(try await !fixture.audience("com.later", of: token))
  }

  @Test func `an anonymous device stays with the first app that registers it until it is removed`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("first-app")
    _ = try await fixture.register(token, "", app: "com.first", now: 1)
    _ = try await fixture.register(token, "", app: "com.second", now: 2)
    #expect(try await fixture.metadata(token)?.bundleID == "com.first")
    #expect(try await fixture.metadata(token)?.updatedAt == 1)
    #expect(try await !fixture.audience("com.second", of: token))
    _ = try await fixture.register(token, "", app: "com.first", now: 3)
    #expect(try await fixture.metadata(token)?.updatedAt == 3)
    #expect(try await fixture.registry.forget(token: DeviceToken(token)))
    _ = try await fixture.register(token, "", app: "com.second", now: 4)
    #expect(try await fixture.audience("com.second", of: token))
  }

  @Test func `a stale anonymous device is removed unless it was registered later or has an owner`() async throws {
    let fixture = try await Fixture()
    let (token, owned) = (fixture.token("stale-nobody"), fixture.token("stale-owned"))
    func stale(_ token: String, _ notAfter: Int64) -> StaleDevice {
      StaleDevice(token: DeviceToken(token), owner: "", bundleID: "com.stale.nobody", notAfter: notAfter)
    }
    _ = try await fixture.register(token, "", app: "com.stale.nobody", now: 1000)
    _ = try await fixture.register(owned, "", app: "com.stale.nobody", now: 1000)
    _ = try await fixture.register(owned, "owner-by-now", now: 1000)
    #expect(try await fixture.removeStale(stale(token, 999), stale(owned, 2000)) == 0)
    #expect(try await fixture.audience("com.stale.nobody", of: token))
    #expect(try await fixture.removeStale(stale(token, 1000)) == 1)
    #expect(try await fixture.metadata(token) == nil)
    #expect(try await !fixture.audience("com.stale.nobody", of: token))
    #expect(try await fixture.members("owner-by-now") == [owned])
    #expect(try await fixture.audience("com.stale.nobody", of: owned))
  }
}

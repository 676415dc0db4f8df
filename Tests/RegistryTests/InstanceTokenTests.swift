import EventLoop
import PushModel
import Redis
import Registry
import RegistrySupport
import Testing

/// A token is one instance's: that which registered it last.
@EventLoop
@Suite(.inEveryWay)
struct InstanceTokenTests {
  private func reachable(_ id: String, _ fixture: Fixture) async -> [String] {
    await fixture.resolve([.instance(id)])[0].devices.map(\.token.text)
  }

  @Test func `a registration takes the token from another instance`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("one-instance")
    for (id, now) in [("first", Int64(5)), ("second", 6)] {
      try await fixture.registry.register(
        instance: id, InstanceRecord(token: DeviceToken(token), environment: .sandbox, updatedAt: now))
    }
    #expect(await reachable("first", fixture).isEmpty)
    #expect(await reachable("second", fixture) == [token])
    #expect(try await fixture.registry.instance(ofToken: DeviceToken(token)) == "second")
  }

  @Test func `an instance is not reached while it is suspended, or after it has unregistered`() async throws {
    let fixture = try await Fixture()
    let (registry, token) = (fixture.registry, fixture.token("suspended"))
    let record = InstanceRecord(token: DeviceToken(token), environment: .sandbox, updatedAt: 5)
    try await registry.register(instance: "sleeper", record)
    try await registry.suspend(instance: "sleeper", true)
    #expect(await reachable("sleeper", fixture).isEmpty)
    try await registry.suspend(instance: "sleeper", false)
    #expect(await reachable("sleeper", fixture) == [token])
    #expect(try await registry.unregister(instance: "sleeper"))
    #expect(try await !registry.unregister(instance: "sleeper"))
    #expect(await reachable("sleeper", fixture).isEmpty)
  }

  @Test func `the environment of an instance is learned`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("learned-instance")
    try await fixture.registry.register(
      instance: "learned", InstanceRecord(token: DeviceToken(token), environment: .production, updatedAt: 5))
    let device = try #require(await fixture.resolve([.instance("learned")])[0].devices.first)
    let count = try await withCheckedContinuation { continuation in
      fixture.registry.learn([AnsweredDevice(device, .accepted(.sandbox), instance: "learned")]) {
        continuation.resume(returning: $0)
      }
    }.get()
    #expect(count == 1)
    #expect(await fixture.resolve([.instance("learned")])[0].devices.first?.environment == .sandbox)
  }
}

import EventLoop
import Redis
import Registry
import RegistrySupport
import Testing
@testable import PushModel

/// An invalid token makes its instance inactive.
@EventLoop
@Suite(.inEveryWay)
struct DeactivationTests {
  private func deactivate(_ fixture: Fixture, _ id: String, token: String, notAfter: Int64) async throws -> Int {
    try await withCheckedContinuation { continuation in
      fixture.registry.deactivate(instance: id, token: DeviceToken(token), notAfter: notAfter) {
        continuation.resume(returning: $0)
      }
    }.get()
  }

  private func stored(_ fixture: Fixture, _ id: String) async throws -> InstanceRecord? {
    try await fixture.run("GET", RegistryKeys.instance(id)).bytes.flatMap(InstanceRecord.init(parsing:))
  }

  @Test func `only the active flag of the record changes`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("stale")
    var record = InstanceRecord(
      token: DeviceToken(token), environment: .sandbox, bundleID: "com.example", updatedAt: 1_700_000_000_123)
    try await fixture.registry.register(instance: "deactivated", record)
    #expect(try await deactivate(fixture, "deactivated", token: token, notAfter: record.updatedAt) == 1)
    record.isActive = false
    #expect(try await stored(fixture, "deactivated") == record)
    #expect(await fixture.resolve([.instance("deactivated")])[0].devices == [])
    #expect(try await deactivate(fixture, "deactivated", token: token, notAfter: .max) == 0)
  }

  @Test func `a later registration is kept, of the same token and of another`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("renewed")
    let record = InstanceRecord(token: DeviceToken(token), environment: nil, updatedAt: 2000)
    try await fixture.registry.register(instance: "renewed", record)
    #expect(try await deactivate(fixture, "renewed", token: token, notAfter: 1999) == 0)
    #expect(try await deactivate(fixture, "renewed", token: fixture.token("former"), notAfter: 3000) == 0)
    #expect(try await stored(fixture, "renewed") == record)
  }

  @Test func `a record with numbers that cannot be written is marked inactive`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("wild")
    let record = #"{"token":"\#(token)","updatedAt":-1e300,"other":1e300,"active":true,"bundleId":"com.example"}"#
    _ = try await fixture.run("SET", RegistryKeys.instance("wild"), record)
    #expect(try await deactivate(fixture, "wild", token: token, notAfter: 1) == 1)
    #expect(try await stored(fixture, "wild")?.isActive == false)
    #expect(try await stored(fixture, "wild")?.bundleID == "com.example")
  }

  @Test func `an unknown instance or an unreadable record is not changed`() async throws {
    let fixture = try await Fixture()
    #expect(try await deactivate(fixture, "nobody", token: fixture.token("x"), notAfter: 1) == 0)
    _ = try await fixture.run("SET", RegistryKeys.instance("garbage"), "garbage")
    #expect(try await deactivate(fixture, "garbage", token: fixture.token("x"), notAfter: 1) == 0)
    #expect(try await fixture.run("GET", RegistryKeys.instance("garbage")).string == "garbage")
  }
}

import BackupSupport
import EventLoop
import RegistrySupport
import Testing

@testable import Backup

/// One process of the fleet imports.
@EventLoop
@Suite(.inEveryWay, .serialized)
struct ImportClaimTests {
  @Test func `one of two processes imports, and then none`() async throws {
    let redis = try await Fixture().redis
    let (first, second) = (
      ImportClaim(connection: redis, owner: "first"), ImportClaim(connection: redis, owner: "second")
    )
    #expect(try await first.begin(hasDevices: true) {} == .unneeded)
    #expect(try await first.begin(hasDevices: false) {} == .granted)
    #expect(try await second.begin(hasDevices: true) {} == .busy)
    try await second.finish(isDone: true)
    #expect(try await second.begin(hasDevices: true) {} == .busy)
    try await first.finish(isDone: true)
    #expect(try await second.begin(hasDevices: false) {} == .done)
  }
}

import Credentials
import EventLoop
import Operations
import PushModel
import Redis
import RedisSupport
import Registry
import Telemetry
import TestSupport
import Testing

/// Pushes to an instance end with its credential.
@EventLoop
struct CredentialControlTests {
  private static let shared = Task { try await RedisServer() }

  private func control() async throws -> (control: CredentialControl, registry: Registry) {
    let redis = try await RedisClient.connected(to: try await Self.shared.value.url)
    let registry = Registry(connection: redis, log: .silent)
    return (CredentialControl(Credentials(connection: redis), registry), registry)
  }

  private func credential(_ name: String, isEnabled: Bool = true) -> Credential {
    Credential(
      kind: .instance, name: name, digest: Credential.digest(of: "key of \(name) \(isEnabled)"), createdAt: 1,
      isEnabled: isEnabled)
  }

  private func register(_ name: String, _ registry: Registry) async throws {
    let record = InstanceRecord(token: "token-of-\(name)-0123456789", environment: .sandbox, updatedAt: 1)
    try await registry.register(instance: name, record)
  }

  private func isReached(_ name: String, _ registry: Registry) async -> Bool {
    await !registry.resolve(.instance(name)).devices.isEmpty
  }

  @Test func `an instance is not reached while its credential is disabled`() async throws {
    let (control, registry) = try await control()
    #expect(try await control.add(credential("disabled")) == nil)
    try await register("disabled", registry)
    #expect(await isReached("disabled", registry))
    #expect(try await control.setEnabled(false, .instance, "disabled"))
    #expect(await !isReached("disabled", registry))
    #expect(try await control.setEnabled(true, .instance, "disabled"))
    #expect(await isReached("disabled", registry))
  }

  @Test func `a revoked instance is reached again when it is added again, and not before`() async throws {
    let (control, registry) = try await control()
    #expect(try await control.add(credential("revoked")) == nil)
    try await register("revoked", registry)
    #expect(try await control.revoke(.instance, "revoked"))
    #expect(await !isReached("revoked", registry))
    #expect(try await !control.setEnabled(true, .instance, "revoked"))
    #expect(await !isReached("revoked", registry))
    #expect(try await control.add(credential("revoked", isEnabled: false)) == nil)
    #expect(await !isReached("revoked", registry))
    #expect(try await control.add(credential("revoked")) == .nameTaken)
    #expect(await !isReached("revoked", registry))
    #expect(try await control.setEnabled(true, .instance, "revoked"))
    #expect(await isReached("revoked", registry))
  }

  @Test func `credentials of other kinds change nothing about an instance of their name`() async throws {
    let (control, registry) = try await control()
    try await register("namesake", registry)
    let user = Credential(kind: .user, name: "namesake", digest: Credential.digest(of: "a user's"), createdAt: 1)
    #expect(try await control.add(user) == nil)
    #expect(try await control.setEnabled(false, .user, "namesake"))
    #expect(try await control.revoke(.user, "namesake"))
    #expect(await isReached("namesake", registry))
  }
}

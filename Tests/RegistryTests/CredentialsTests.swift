import EventLoop
import Redis
import Registry
import Telemetry
import TestSupport
import Testing

/// Who is known and who is not costs the same.
@EventLoop
struct CredentialsTests {
  @Test(arguments: ["15-bytes-are-few", "16-bytes-will-do"])
  func `a secret has at least sixteen bytes`(text: String) {
    #expect(Credential.secret(Array(text.utf8.prefix(16))) != nil)
    #expect(Credential.secret(Array(text.utf8.prefix(15))) == nil)
    #expect(Credential.randomSecret().utf8.count >= 16)
  }

  @Test func `a shorter secret that is stored already goes on working`() async throws {
    let fixture = try await Fixture()
    let credentials = Credentials(connection: fixture.redis)
    let credential = Credential(kind: .user, name: "short-lived", digest: Credential.digest(of: "short"), createdAt: 1)
    #expect(try await credentials.add(credential) == nil)
    #expect(try await credentials.isValid(bearer: "short", of: "short-lived"))
    #expect(try await !credentials.isValid(bearer: "other", of: "short-lived"))
  }
}

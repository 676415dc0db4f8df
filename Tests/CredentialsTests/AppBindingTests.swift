import EventLoop
import JSON
import RegistrySupport
import Testing
@testable import Credentials

@EventLoop
struct AppBindingTests {
  private func record(_ members: String) -> [UInt8] {
    Array(#"{"sha256":"\#(String(repeating: "0", count: 64))","createdAt":1\#(members)}"#.utf8)
  }

  @Test func `a credential without apps is for every app, and its record is as it was`() throws {
    let credential = Credential(kind: .user, name: "u", digest: "d", createdAt: 1)
    #expect(CredentialRecord(credential).json == Array(#"{"sha256":"d","createdAt":1,"enabled":true}"#.utf8))
    #expect(credential.apps.allows("any") && credential.apps.allows(nil))
    #expect(credential.apps.app(else: "configured") == "configured")
    #expect(credential.apps.app(else: nil) == nil)
  }

  @Test func `a bound credential is for its apps only`() {
    let binding = AppBinding(["com.b", "com.a"])
    #expect(binding.apps == ["com.a", "com.b"])
    #expect(binding.allows("com.a") && !binding.allows("com.c") && !binding.allows(nil))
    #expect(binding.app(else: "com.b") == "com.b")
    #expect(binding.app(else: "com.c") == nil)
    #expect(AppBinding(["com.a"]).app(else: "com.b") == "com.a")
  }

  @Test func `the apps are kept when a credential is disabled and enabled`() async throws {
    let fixture = try await Fixture()
    let credentials = Credentials(connection: fixture.redis)
    for kind in [Credential.Kind.user, .key] {
      let bound = Credential(
        kind: kind, name: "bound", digest: Credential.digest(of: "secret of \(kind)"), createdAt: 1,
        apps: AppBinding(["com.a", "com.b"]))
      #expect(try await credentials.add(bound) == nil)
      #expect(try await credentials.setEnabled(false, kind, "bound"))
      #expect(try await credentials.setEnabled(true, kind, "bound"))
      #expect(try await credentials.find(kind, secret: "secret of \(kind)")?.apps == bound.apps)
    }
    #expect(try await credentials.enabled(.user, "bound", secret: "secret of user")?.apps.apps == ["com.a", "com.b"])
  }

  @Test(arguments: [#""com.a""#, "[]", "[1]", #"["com.a",null]"#, #"["no spaces"]"#, "{}", "null"])
  func `a record with malformed apps is no credential, rather than one for every app`(apps: String) {
    #expect(CredentialRecord(kind: .key, name: "k", json: record(#","apps":\#(apps)"#)) == nil)
    #expect(CredentialRecord(kind: .key, name: "k", json: record("")) != nil)
  }
}

import EventLoop
import Redis
import RedisSupport
import RegistrySupport
import Testing

@testable import Credentials

/// Several secrets of one user.
@EventLoop
struct SeveralSecretsTests {
  private func credential(
    _ name: String, _ label: String = Credential.defaultLabel, apps: Set<String> = [], isEnabled: Bool = true
  ) -> Credential {
    Credential(
      kind: .user, name: name, label: label, digest: Credential.digest(of: "\(name) \(label)"), createdAt: 1,
      isEnabled: isEnabled, apps: AppBinding(apps))
  }

  @Test func `each label is a secret, with its own apps`() async throws {
    let credentials = Credentials(connection: try await Fixture().redis)
    #expect(try await credentials.add(credential("several")) == nil)
    #expect(try await credentials.add(credential("several", "phone", apps: ["com.a"])) == nil)
    #expect(try await credentials.add(credential("several", "phone")) == .labelTaken)
    #expect(try await credentials.add(credential("several")) == .nameTaken)
    #expect(try await credentials.add(credential("several", "tablet", isEnabled: false)) == .enabled)
    #expect(try await credentials.enabled(.user, "several", secret: "several default")?.apps.isForEveryApp == true)
    #expect(try await credentials.enabled(.user, "several", secret: "several phone")?.apps.apps == ["com.a"])
    #expect(try await credentials.enabled(.user, "several", secret: "several tablet") == nil)
    #expect(try await credentials.list(.user).filter { $0.name == "several" }.map(\.label) == ["default", "phone"])
  }

  @Test func `revoking one leaves the others, and disabling is about all`() async throws {
    let fixture = try await Fixture()
    let credentials = Credentials(connection: fixture.redis)
    for label in ["default", "phone", "tablet"] {
      #expect(try await credentials.add(credential("leaving", label)) == nil)
    }
    #expect(try await credentials.revoke(.user, "leaving", label: "default"))
    #expect(try await !credentials.revoke(.user, "leaving", label: "default"))
    #expect(try await credentials.enabled(.user, "leaving", secret: "leaving default") == nil)
    #expect(try await credentials.enabled(.user, "leaving", secret: "leaving phone") != nil)
    #expect(try await credentials.setEnabled(false, .user, "leaving"))
    #expect(try await credentials.add(credential("leaving", "new")) == nil)
    for label in ["phone", "tablet", "new"] {
      #expect(try await credentials.enabled(.user, "leaving", secret: "leaving \(label)") == nil)
    }
    #expect(try await credentials.revoke(.user, "leaving"))
    // The digests are free again.
    for label in ["phone", "tablet", "new", "default"] {
      #expect(try await credentials.add(credential("leaving", label)) == (label == "default" ? .nameTaken : nil))
    }
  }

  @Test func `all secrets are revoked, also if it cannot be noted when they were used`() async throws {
    let fixture = try await Fixture()
    let credentials = Credentials(connection: fixture.redis)
    for label in ["default", "phone"] { #expect(try await credentials.add(credential("unused", label)) == nil) }
    let uses = CredentialKeys.lastUses(.user)
    _ = try await fixture.run("DEL", uses)
    _ = try await fixture.run("SET", uses, "another type")
    #expect(try await credentials.revoke(.user, "unused"))
    _ = try await fixture.run("DEL", uses)
    for label in ["default", "phone"] {
      #expect(try await credentials.enabled(.user, "unused", secret: "unused \(label)") == nil)
    }
    #expect(try await credentials.list(.user).allSatisfy { $0.name != "unused" })
  }

  @Test func `a batch is added as if one after the other, up to the limit`() async throws {
    let credentials = Credentials(connection: try await Fixture().redis)
    let labels = (0...Credential.maximumSecrets).map { "l\($0)" }
    let conflicts = try await credentials.add(labels.map { credential("batch", $0) }, of: .user)
    #expect(conflicts == Array(repeating: nil, count: Credential.maximumSecrets) + [.tooMany])
    let other = Credential(
      kind: .user, name: "batch-2", digest: Credential.digest(of: "batch l5"), createdAt: 1)
    #expect(try await credentials.add([other, credential("batch-3")], of: .user) == [.secretTaken, nil])
    #expect(try await credentials.enabled(.user, "batch", secret: "batch l99") != nil)
  }

  @Test func `a record of before is a user with one secret, and a malformed secret does not take the others along`() {
    let old = CredentialRecord(
      kind: .user, name: "u", json: Array(#"{"sha256":"d","createdAt":1,"enabled":true}"#.utf8))
    #expect(old?.credentials.map(\.label) == ["default"])
    let json = #"{"sha256":"d","createdAt":1,"secrets":[{"sha256":7},7,{"label":"x","sha256":"e","createdAt":2}]}"#
    let record = CredentialRecord(kind: .user, name: "u", json: Array(json.utf8))
    #expect(record?.credentials.map(\.label) == ["default", "x"])
    #expect(record.flatMap { CredentialRecord(kind: .user, name: "u", json: $0.json) } == record)
  }

  @Test(arguments: ["", "a b", "ä", "a\n", String(repeating: "x", count: 65)])
  func `not every text is a label`(text: String) {
    #expect(!Credential.isLabel(text))
    #expect(Credential.isLabel("Phone-1.a_b:c"))
  }
}

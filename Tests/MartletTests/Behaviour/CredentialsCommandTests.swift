import EventLoop
import FleetSupport
import Foundation
import Redis
import Registry
import Testing
import TestSupport
@testable import Credentials

/// `martlet credentials` as a process.
@Suite(.serialized) struct CredentialsCommandTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.redis("FLUSHALL")
  }

  private struct Added: Decodable {
    let kind: String
    let name: String
    let secret: String
  }

  private func add(_ words: String..., input: String = "") async throws -> Added {
    let child = try await fleet.martlet(["credentials", "add"] + words + ["--json"], input: input)
    #expect(child.exitCode == 0, "\(child.lines)")
    return try JSONDecoder().decode(Added.self, from: Data(child.lines(of: .output).joined().utf8))
  }

  @EventLoop private func credentials() -> Credentials { Credentials(connection: fleet.connection) }

  /// All keys and values in Redis.
  private func everything() async throws -> String {
    var text = ""
    for key in (try await fleet.redis("KEYS", "*").array ?? []).compactMap(\.string) {
      text += key + "\n"
      text += (try await fleet.redis("HGETALL", key).array ?? []).compactMap(\.string).joined(separator: "\n")
    }
    return text
  }

  @Test func `a credential is found by its secret, which is not stored`() async throws {
    let user = try await add("user", " Alice ")
    #expect(user.kind == "user")
    #expect(user.name == "alice")
    #expect(user.secret.utf8.count == 43)
    let key = try await add(
      "key", "app.1", "--scopes", "push,devices", "--rate", "5", "--burst", "6", "--daily", "7", "--disabled")
    let instance = try await add("instance", "home:1")
    #expect(try await credentials().enabled(.user, "alice", secret: user.secret) != nil)
    #expect(try await credentials().enabled(.user, "alice", secret: key.secret) == nil)
    #expect(try await credentials().find(.instance, secret: instance.secret)?.name == "home:1")
    let found = try #require(try await credentials().find(.key, secret: key.secret))
    #expect(found.scopes == [.push, .devices])
    #expect(found.quota == KeyQuota(perSecond: 5, burst: 6, perDay: 7))
    #expect(!found.isEnabled)
    let everything = try await everything()
    for secret in [user.secret, key.secret, instance.secret] { #expect(!everything.contains(secret)) }
  }

  @Test(arguments: ["> /dev/full", ">&-"])
  func `a secret that cannot be written to stdout is reported as a failure`(redirection: String) async throws {
    let program = try builtProduct("martlet")
    let child = try ChildProcess(
      "sh", ["-c", "exec '\(program)' credentials add user unseen \(redirection)"], environment: fleet.environment())
    #expect(try await child.exit() == 1)
    #expect(child.lines.contains { $0.hasPrefix("martlet: cannot write to standard output: ") }, "\(child.lines)")
  }

  @Test func `a list shows neither secrets nor digests`() async throws {
    let key = try await add("key", "listed")
    let user = try await add("user", "listed")
    let json = try await fleet.martlet("credentials", "list", "--json")
    #expect(json.lines(of: .output).count == 2)
    #expect(json.lines(of: .output).last?.contains(#""scopes":["devices","jobs","push","tokens"]"#) == true)
    let table = try await fleet.martlet("credentials", "list", "key")
    #expect(table.lines(of: .output).count == 2)
    for child in [json, table] {
      #expect(child.exitCode == 0)
      for secret in [key.secret, user.secret] {
        #expect(!child.lines.joined().contains(secret))
        #expect(!child.lines.joined().contains(Credential.digest(of: secret)))
      }
    }
  }

  @Test func `a user or a key may be bound to apps, and the list shows them`() async throws {
    let key = try await add("key", "bound", "--app", "com.b", "--app=com.a", "--app", "com.b")
    #expect(try await credentials().find(.key, secret: key.secret)?.apps.apps == ["com.a", "com.b"])
    _ = try await add("user", "one", "--app", "com.a")
    _ = try await add("user", "two")
    let json = try await fleet.martlet("credentials", "list", "--json").lines(of: .output)
    #expect(json.map { $0.contains(#""apps":["com.a"]"#) } == [true, false, false])
    #expect(json.map { $0.contains(#""apps":["com.a","com.b"]"#) } == [false, false, true])
    #expect(!json[1].contains("apps"))
    let table = try await fleet.martlet("credentials", "list").lines(of: .output)
    #expect(table.first?.contains("apps") == true)
    #expect(table.last?.contains("com.a,com.b") == true)
    #expect(try await fleet.martlet("credentials", "disable", "key", "bound").exitCode == 0)
    #expect(try await credentials().find(.key, secret: key.secret)?.apps.apps == ["com.a", "com.b"])
  }

  @Test func `revoking and disabling take effect at once`() async throws {
    let user = try await add("user", "leaver")
    #expect(try await fleet.martlet("credentials", "disable", "user", "Leaver").exitCode == 0)
    #expect(try await credentials().enabled(.user, "leaver", secret: user.secret) == nil)
    #expect(try await fleet.martlet("credentials", "enable", "user", "leaver").exitCode == 0)
    #expect(try await credentials().enabled(.user, "leaver", secret: user.secret) != nil)
    #expect(try await fleet.martlet("credentials", "revoke", "user", "LEAVER").exitCode == 0)
    #expect(try await credentials().enabled(.user, "leaver", secret: user.secret) == nil)
    #expect(try await fleet.redis("DBSIZE").integer == 0)
    for verb in ["revoke", "enable", "disable"] {
      #expect(try await fleet.martlet("credentials", verb, "user", "leaver").exitCode == 1)
    }
    #expect(try await add("user", "leaver").secret != user.secret)
  }

  @Test func `no new user has a name that does not show as it is, and one from before can be revoked`() async throws {
    let name = "al\u{202E}ice"
    let refused = try await fleet.martlet("credentials", "add", "user", name)
    #expect(refused.exitCode == 2)
    #expect(refused.lines.joined().contains(#"'al\u202eice' has format characters"#))
    try await fleet.redis(
      "HSET", CredentialKeys.credentials(.user), name,
      #"{"sha256":"\#(Credential.digest(of: "s"))","createdAt":1,"enabled":true}"#)
    let revoked = try await fleet.martlet("credentials", "revoke", "user", name)
    #expect(revoked.exitCode == 0)
    #expect(try await fleet.redis("HLEN", CredentialKeys.credentials(.user)).integer == 0)
  }

  @Test func `a given secret works`() async throws {
    let added = try await add("instance", "old", "--secret", "-", input: "old-device-key-1\r\n")
    #expect(added.secret == "old-device-key-1")
    #expect(try await credentials().find(.instance, secret: "old-device-key-1")?.name == "old")
    let shared = try await fleet.martlet(
      "credentials", "add", "instance", "new", "--secret", "-", input: "old-device-key-1")
    #expect(shared.exitCode == 1)
    for input in [
      "", "short", "only-15-bytes-x", "two lines of\nsecrets that are long", "control\u{1}character in it",
      String(repeating: "x", count: 513),
    ] {
      let child = try await fleet.martlet("credentials", "add", "user", "bad", "--secret", "-", input: input)
      #expect(child.exitCode == 1, "\(input)")
    }
    let quiet = try await fleet.martlet(
      "credentials", "add", "user", "quiet", "--secret", "-", input: "quiet-secret-1234")
    #expect(quiet.exitCode == 0)
    #expect(!quiet.lines.joined().contains("quiet-secret-1234"))
  }

  @Test func `only one of two concurrent adds of a name succeeds`() async throws {
    let children = try (0..<4).map { _ in
      try ChildProcess(
        try builtProduct("martlet"), ["credentials", "add", "key", "race"], environment: fleet.environment())
    }
    var codes: [Int32] = []
    for child in children { codes.append(try await child.exit()) }
    #expect(codes.sorted() == [0, 1, 1, 1])
    let loser = try #require(children.first { $0.exitCode == 1 })
    #expect(loser.lines.joined().contains("revoke it first"))
    #expect(try await fleet.redis("HLEN", CredentialKeys.credentials(.key)).integer == 1)
  }

  @Test func `malformed records are skipped`() async throws {
    for (field, value) in [("a", ""), ("b", "{"), ("c", "[]"), ("d", "{}"), ("e", #"{"sha256":7,"createdAt":1}"#)] {
      try await fleet.redis("HSET", CredentialKeys.credentials(.key), field, value)
    }
    _ = try await add("key", "sound")
    let list = try await fleet.martlet("credentials", "list", "key", "--json")
    #expect(list.exitCode == 0)
    #expect(list.lines(of: .output).count == 1)
    #expect(try await fleet.martlet("credentials", "revoke", "key", "b").exitCode == 0)
  }

  @Test func `a record of another program can be disabled and revoked`() async throws {
    let digest = Credential.digest(of: "written-by-hand")
    try await fleet.redis(
      "HSET", CredentialKeys.credentials(.user), "hand", #"{ "createdAt":1, "sha256":"\#(digest)" }"#)
    #expect(try await credentials().enabled(.user, "hand", secret: "written-by-hand") != nil)
    #expect(try await fleet.martlet("credentials", "disable", "user", "hand").exitCode == 0)
    #expect(try await credentials().enabled(.user, "hand", secret: "written-by-hand") == nil)
    #expect(try await fleet.martlet("credentials", "revoke", "user", "hand").exitCode == 0)
    #expect(try await fleet.redis("DBSIZE").integer == 0)
  }

  @Test func `a user has a secret for each label`() async throws {
    let (first, phone) = (try await add("user", "multi"), try await add("user", "multi", "--label", "phone"))
    for secret in [first.secret, phone.secret] {
      #expect(try await credentials().enabled(.user, "multi", secret: secret) != nil)
    }
    let again = try await fleet.martlet("credentials", "add", "user", "multi")
    #expect(again.exitCode == 1 && again.lines.joined().contains("--label"), "\(again.lines)")
    let list = try await fleet.martlet("credentials", "list", "user", "--json").lines(of: .output)
    #expect(list.map { $0.contains(#""label":"phone""#) } == [false, true])
    #expect(try await fleet.martlet("credentials", "revoke", "user", "multi", "--label", "phone").exitCode == 0)
    #expect(try await credentials().enabled(.user, "multi", secret: phone.secret) == nil)
    #expect(try await credentials().enabled(.user, "multi", secret: first.secret) != nil)
    #expect(try await fleet.martlet("credentials", "revoke", "user", "multi").exitCode == 0)
    #expect(try await fleet.redis("DBSIZE").integer == 0)
  }

  @Test func `users on stdin are added in their order, and each invalid line is reported`() async throws {
    let lines = [
      #"{"name":"Batch-0","label":"phone","apps":["com.a"]}"#, "", "{", #"{"name":"batch-1","apps":[]}"#,
      #"{"name":"batch-0","label":"phone"}"#, #"{"name":"x","lable":"y"}"#, #"{"name":7}"#, #"{"name":"batch-2"}"#,
    ]
    let many = (0..<1200).map { #"{"name":"many-\#($0)"}"# }
    let child = try await fleet.martlet(
      ["credentials", "add", "users", "-"], input: (lines + many).joined(separator: "\n"))
    #expect(child.exitCode == 1)
    let output = child.lines(of: .output)
    #expect(output.count == 1207)
    #expect(output.prefix(7).map { $0.contains(#""error":"#) } == [false, true, true, true, true, true, false])
    #expect(output[1].hasPrefix(#"{"line":3,"error":"not JSON: "#))
    #expect(output[2] == #"{"line":4,"name":"batch-1","error":"apps: a list of 0; expected a list of 1 to 100"}"#)
    #expect(output[4].contains(#"unknown field 'lable'; did you mean \"label\"?"#))
    #expect(output[3].hasPrefix(#"{"line":5,"name":"batch-0","error":"user 'batch-0' already has a secret 'phone'"#))
    let added = try JSONDecoder().decode([String: String].self, from: Data(output[0].utf8))
    #expect(added["name"] == "batch-0" && added["label"] == "phone")
    #expect(try await credentials().enabled(.user, "batch-0", secret: added["secret"] ?? "")?.apps.apps == ["com.a"])
    #expect(try await fleet.redis("HLEN", CredentialKeys.credentials(.user)).integer == 1202)
  }

  @Test(arguments: [
    ["add", "key", "no spaces"], ["add", "user", " "], ["add", "user", "a\u{1}b"], ["add", "instance", ""],
    ["add", "key", String(repeating: "x", count: 129)], ["add", "robot", "x"], ["add", "key"], ["add"], [],
    ["steal", "key", "x"], ["add", "key", "x", "--scopes", "all"], ["add", "key", "x", "--scopes", ""],
    ["add", "user", "x", "--scopes", "push"], ["add", "user", "x", "--rate", "5"], ["add", "key", "x", "--rate", "0"],
    ["add", "user", "x", "--secret", "in-the-open"], ["revoke", "key", "x", "--disabled"], ["list", "robots"],
    ["list", "key", "x"], ["add", "key", "x", "--app", "no spaces"], ["add", "user", "x", "--app", ""],
    ["add", "instance", "x", "--app", "com.a"], ["enable", "key", "x", "--app", "com.a"],
    ["add", "key", "x", "--label", "y"], ["add", "user", "x", "--label", "a b"],
    ["enable", "user", "x", "--label", "y"],
    ["add", "users", "x"], ["add", "users", "-", "--app", "com.a"],
    ["add", "key", "x"] + (0...100).flatMap { ["--app", "com.\($0)"] },
  ])
  func `a call with invalid usage changes nothing`(words: [String]) async throws {
    let child = try await fleet.martlet(["credentials"] + words)
    #expect(child.exitCode == 2, "\(child.lines)")
    #expect(try await fleet.redis("DBSIZE").integer == 0)
  }
}

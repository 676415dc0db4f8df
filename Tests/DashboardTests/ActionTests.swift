import DashboardSupport
import EventLoop
import Redis
import Telemetry
import Testing
import TestSupport

@testable import Credentials
@testable import Dashboard

/// Actions over real HTTP: roles, forms that are sent twice, the audit log.
@EventLoop
struct ActionTests {
  private func fixture() async throws -> DashboardFixture {
    let fixture = try await DashboardFixture()
    for (role, name) in [(OperatorRole.viewer, "vera"), (.operator, "olga"), (.admin, "anna")] {
      try await fixture.add(role, name, secret: "secret-of-\(name)")
    }
    let key = Credential(kind: .key, name: "shop", digest: Credential.digest(of: "key"), createdAt: 1)
    _ = try await Credentials(connection: fixture.redis).add(key)
    return fixture
  }

  private let admin = "anna:secret-of-anna"

  private func disable(_ name: String = "shop", token: String = "t1") -> [(String, String)] {
    [("form", token), ("action", "disable"), ("kind", "key"), ("name", name)]
  }

  private func isEnabled(_ fixture: DashboardFixture) async throws -> Bool? {
    try await Credentials(connection: fixture.redis).credential(.key, "shop")?.isEnabled
  }

  @Test func `an admin's action is done, told once and written into the audit log`() async throws {
    let fixture = try await fixture()
    let answer = try await fixture.post("/credentials?kind=key", disable(), as: admin)
    #expect(answer.status == 303)
    let location = try #require(answer.headers["location"])
    #expect(location.hasPrefix("./credentials?kind=key&notice="))
    #expect(try await isEnabled(fixture) == false)
    let next = DashboardFixture.resolve(location, from: "/credentials")
    #expect(try await fixture.get(next, as: admin).body.contains("Disabled key shop."))
    #expect(try await !fixture.get(next, as: admin).body.contains("Disabled key shop."))
    let entries = try await AuditLog(connection: fixture.redis, log: .silent).read(before: nil, count: 10)
    #expect(entries.map(\.action) == ["disable"])
    #expect(entries.first?.operator == "anna")
    #expect(entries.first?.subject == "key shop")
    #expect(entries.first?.outcome == "done")
    let audit = try await fixture.get("/audit", as: "vera:secret-of-vera")
    #expect(audit.body.contains("key shop"))
    await fixture.stop()
  }

  @Test(arguments: ["vera", "olga"]) func `a lower role sees no button, and its form is refused and noted`(
    _ name: String
  ) async throws {
    let fixture = try await fixture()
    let user = "\(name):secret-of-\(name)"
    #expect(try await !fixture.get("/credentials?kind=key", as: user).body.contains("Revoke"))
    let answer = try await fixture.post("/credentials?kind=key", disable(), as: user)
    #expect(answer.status == 403)
    #expect(try await isEnabled(fixture) == true)
    let entries = try await AuditLog(connection: fixture.redis, log: .silent).read(before: nil, count: 10)
    #expect(entries.first?.outcome.hasPrefix("refused") == true)
    await fixture.stop()
  }

  @Test func `a form that is sent twice is carried out once`() async throws {
    let fixture = try await fixture()
    _ = try await fixture.post("/credentials?kind=key", disable(), as: admin)
    _ = try await Credentials(connection: fixture.redis).setEnabled(true, .key, "shop")
    let second = try await fixture.act("/credentials?kind=key", disable(), as: admin)
    #expect(second.body.contains("already sent"))
    #expect(try await isEnabled(fixture) == true)
    // Another form of the same page, and a form that is fetched anew.
    _ = try await fixture.post("/credentials?kind=key", disable(token: "t2"), as: admin)
    #expect(try await isEnabled(fixture) == false)
    await fixture.stop()
  }

  @Test func `a request gives back only a form that it has taken itself`() async throws {
    let fixture = try await fixture()
    let forms = FormToken(connection: fixture.redis)
    let form = [(name: FormToken.field, value: "t")]
    #expect(try await forms.take(form, for: "first"))
    #expect(try await !forms.take(form, for: "second"))
    await forms.release(form, of: "second")
    #expect(try await !forms.take(form, for: "third"))
    await forms.release(form, of: "first")
    #expect(try await forms.take(form, for: "fourth"))
    await fixture.stop()
  }

  @Test func `many refused actions do not hide a sign-in`() async throws {
    let fixture = try await fixture()
    let audit = AuditLog(connection: fixture.redis, log: .silent)
    for _ in 0..<(AuditLimit.entries + 5) {
      await audit.write(AuditEntry(at: 1, operator: "vera", action: "x", subject: "", outcome: "refused: y"))
    }
    await audit.write(
      AuditEntry(at: 2, operator: "vera", action: AuditEntry.signIn, subject: "", outcome: "done"))
    let entries = try await audit.read(.refused, before: nil, count: 100)
    #expect(entries.first?.action == AuditEntry.signIn)
    #expect(entries.count == AuditLimit.entries + 1)
    await audit.flush()
    let latest = try await audit.read(.refused, before: nil, count: 1)
    #expect(latest.first?.subject == "5 more in the same minute")
    await fixture.stop()
  }

  @Test func `a form whose action changed nothing can be sent again`() async throws {
    let fixture = try await fixture()
    let refused = try await fixture.act("/credentials?kind=key", disable("later"), as: admin)
    #expect(refused.body.contains("There is no key later any more."))
    let key = Credential(kind: .key, name: "later", digest: Credential.digest(of: "other key"), createdAt: 1)
    _ = try await Credentials(connection: fixture.redis).add(key)
    let done = try await fixture.act("/credentials?kind=key", disable("later"), as: admin)
    #expect(done.body.contains("Disabled key later."))
    await fixture.stop()
  }

  @Test func `a form whose action Redis refused can be sent again`() async throws {
    let fixture = try await fixture()
    let records = CredentialKeys.credentials(.key)
    _ = try await fixture.run("RENAME", records, records + ":away")
    _ = try await fixture.run("SET", records, "no hash")
    #expect(try await fixture.post("/credentials?kind=key", disable(), as: admin).status == 409)
    _ = try await fixture.run("RENAME", records + ":away", records)
    #expect(try await fixture.act("/credentials?kind=key", disable(), as: admin).body.contains("Disabled key shop."))
    await fixture.stop()
  }

  @Test func `the page lists the secrets of a user by label and revokes one`() async throws {
    let fixture = try await fixture()
    let credentials = Credentials(connection: fixture.redis)
    for label in ["phone", "tablet"] {
      let secret = Credential(
        kind: .user, name: "labels", label: label, digest: Credential.digest(of: label), createdAt: 1)
      #expect(try await credentials.add(secret) == nil)
    }
    let page = try await fixture.get("/credentials?kind=user&revoke=labels&label=tablet", as: admin).body
    #expect(page.contains("Revoke secret tablet of user labels?"))
    #expect(page.contains("Revoke phone of labels"))
    let form = [("action", "revoke"), ("kind", "user"), ("name", "labels"), ("label", "tablet")]
    #expect(
      try await fixture.act("/credentials?kind=user", form, as: admin).body.contains(
        "Revoked secret tablet of user labels."))
    #expect(try await credentials.list(.user).filter { $0.name == "labels" }.map(\.label) == ["phone"])
    await fixture.stop()
  }

  @Test func `a name with characters that are not shown is revoked on the page`() async throws {
    let fixture = try await fixture()
    let name = "so\u{AD}ft"
    let credentials = Credentials(connection: fixture.redis)
    let user = Credential(kind: .user, name: name, digest: Credential.digest(of: "soft"), createdAt: 1)
    #expect(try await credentials.add(user) == nil)
    let path = "/credentials?kind=user&revoke=so%C2%ADft"
    let page = try await fixture.get(path, as: admin)
    let sent = try #require(page.attribute("value", ofElementWith: "name=\"name\""))
    let done = try await fixture.post(path, [("action", "revoke"), ("kind", "user"), ("name", sent)], as: admin)
    #expect(done.status == 303)
    #expect(try await credentials.credential(.user, name) == nil)
    await fixture.stop()
  }

  @Test func `refused actions push out no other entry, and many of them are counted`() async throws {
    let fixture = try await fixture()
    _ = try await fixture.post("/credentials?kind=key", disable(), as: admin)
    for _ in 0..<30 { _ = try await fixture.post("/credentials", disable(), as: "vera:secret-of-vera") }
    #expect(try await fixture.run("XLEN", AuditLog.key).integer == 1)
    #expect(try await fixture.run("XLEN", AuditLog.refusedKey).integer == 20)
    let page = try await fixture.get("/audit?show=actions", as: admin)
    #expect(page.body.contains("anna") && !page.body.contains("refused: "))
    #expect(try await fixture.get("/audit?show=nothing", as: admin).status == 400)
    // The end of the window, or of the dashboard.
    await fixture.dashboard.stop(grace: .seconds(1))
    let entries = try await AuditLog(connection: fixture.redis, log: .silent).read(.refused, before: nil, count: 50)
    #expect(entries.count == 21)
    #expect(entries.first?.operator == "vera")
    #expect(entries.first?.subject == "10 more in the same minute")
    await fixture.stop()
  }

  @Test func `a request of another site is refused, whoever is signed in`() async throws {
    let fixture = try await fixture()
    for fields in [[("Sec-Fetch-Site", "cross-site")], [("Origin", "https://evil.example")], [("Origin", "null")]] {
      let answer = try await fixture.post("/credentials", disable(), as: admin, fields)
      #expect(answer.status == 403, "\(fields)")
    }
    #expect(try await isEnabled(fixture) == true)
    let own = [("Origin", "http://127.0.0.1:\(fixture.dashboard.port)")]
    #expect(try await fixture.post("/credentials", disable(), as: admin, own).status == 303)
    await fixture.stop()
  }

  @Test(arguments: [
    [("action", "explode")], [], [("action", "disable")], [("action", "disable"), ("kind", "root"), ("name", "x")],
    [("action", "disable"), ("kind", "key")],
  ])
  func `a form that no page makes is a bad request`(_ form: [(String, String)]) async throws {
    let fixture = try await fixture()
    #expect(try await fixture.post("/credentials", form, as: admin).status == 400)
    await fixture.stop()
  }

  @Test func `what is not there any more is not done`() async throws {
    let fixture = try await fixture()
    let answer = try await fixture.act("/credentials", disable("<b>gone</b>"), as: admin)
    #expect(answer.status == 200)
    #expect(answer.body.contains("There is no key &lt;b&gt;gone&lt;/b&gt; any more."))
    await fixture.stop()
  }

  @Test func `nobody locks himself out`() async throws {
    let fixture = try await fixture()
    let form = [("action", "revoke"), ("kind", "operator"), ("name", "anna")]
    #expect(
      try await fixture.act("/credentials", form, as: admin).body.contains("cannot revoke or disable your own access"))
    #expect(try await fixture.get("/", as: admin).status == 200)
    await fixture.stop()
  }

  @Test(arguments: [
    "/audit?cursor=x", "/audit?cursor=1-1-1", "/audit?cursor=-", "/audit?cursor=99999999999999999999-0",
    "/credentials?cursor=abc", "/credentials?kind=nothing", "/credentials?kind=%3Cscript%3E", "/audit?cursor=%00",
  ])
  func `a forged cursor is a bad request`(_ path: String) async throws {
    let fixture = try await fixture()
    let answer = try await fixture.get(path, as: admin)
    #expect(answer.status == 400)
    #expect(!answer.body.contains("<script>"))
    await fixture.stop()
  }

  @Test func `the audit log comes in parts`() async throws {
    let fixture = try await fixture()
    let log = AuditLog(connection: fixture.redis, log: .silent)
    for number in 0..<60 {
      await log.write(
        AuditEntry(at: 1000, operator: "anna", action: "act\(number)", subject: "<i>\u{202E}", outcome: "done"))
    }
    let first = try await fixture.get("/audit", as: admin)
    #expect(first.body.contains("act59") && !first.body.contains("act9<"))
    #expect(!first.body.contains("<i>"))
    let next = try #require(first.attribute("href", ofElementWith: "cursor="))
    let second = try await fixture.get(DashboardFixture.resolve(next, from: "/audit"), as: admin)
    #expect(second.body.contains("act9<") && !second.body.contains("act59"))
    await fixture.stop()
  }

  @Test func `methods and bodies that no browser sends are refused`() async throws {
    let fixture = try await fixture()
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
      let answer = try await WebAnswer.ask(port: fixture.dashboard.port, method, "/", user: admin)
      #expect(answer.status == 405, "\(method)")
      #expect(answer.headers["allow"] == "GET, HEAD")
    }
    let json = try await WebAnswer.ask(
      port: fixture.dashboard.port, "POST", "/credentials", [("Content-Type", "application/json")], user: admin,
      body: "{}")
    #expect(json.status == 415)
    let broken = try await WebAnswer.ask(
      port: fixture.dashboard.port, "POST", "/credentials", user: admin, body: "action=%zz")
    #expect(broken.status == 400)
    await fixture.stop()
  }

  @Test func `an unknown page is not found, and its path is no markup`() async throws {
    let fixture = try await fixture()
    for path in ["/nowhere", "/%3Cscript%3E", "/queues/", "//", "/../..", "/%", "/audit/"] {
      let answer = try await fixture.get(path, as: admin)
      #expect(answer.status == 404, "\(path)")
      #expect(!answer.body.contains("<script>"), "\(path)")
    }
    await fixture.stop()
  }
}

struct AuditTextTests {
  private func entry(_ id: String) -> AuditEntry {
    var entry = AuditEntry(at: 1, operator: "a", action: "b", subject: "", outcome: "done")
    entry.id = id
    return entry
  }

  @Test func `entries of two streams with one id are on the same page`() {
    let ids = (0..<49).map { "\(100 - $0)-0" } + ["5-0", "5-0", "4-0"]
    let page = AuditPage.cut(ids.map(entry))
    #expect(page.entries.count == 51)
    #expect(page.next == "5-0")
    #expect(AuditPage.cut(ids.prefix(51).map(entry)).next == nil)
    #expect(AuditPage.cut([]).entries.isEmpty)
  }

  @Test func `an operator has a maximum number of entries in a window, and those of others are not affected`() {
    var limit = AuditLimit()
    let admitted = (0..<30).count { _ in limit.admits("vera") }
    #expect(admitted == AuditLimit.entries)
    let isOther = limit.admits("olga")
    #expect(isOther)
    let omitted = limit.end()
    #expect(omitted.map(\.operator) == ["vera"] && omitted.map(\.omitted) == [10])
    let isNext = limit.admits("vera")
    #expect(isNext)
    let none = limit.end()
    #expect(none.isEmpty)
  }
}

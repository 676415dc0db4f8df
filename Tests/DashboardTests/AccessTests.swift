import DashboardSupport
import EventLoop
import Foundation
import HTTPServer
import Redis
import Testing
import TestSupport

@testable import Credentials
@testable import Dashboard

/// Who may use the dashboard, over real HTTP.
@EventLoop
struct AccessTests {
  @Test func `without operators this machine may do everything, and other sites nothing`() async throws {
    let fixture = try await DashboardFixture()
    #expect(try await fixture.get("/").heading == "Overview")
    #expect(try await fixture.get("/", [("Host", "evil.example")]).status == 403)
    #expect(try await fixture.get("/", [("X-Forwarded-For", "192.0.2.1")]).status == 403)
    let refused = try await fixture.get("/", [("Host", "evil.example")])
    #expect(refused.body.contains("martlet credentials add operator"))
    await fixture.stop()
  }

  @Test func `when the last operator is revoked, nobody is let in without one`() async throws {
    let fixture = try await DashboardFixture()
    #expect(try await fixture.get("/").status == 200)
    try await fixture.add(.admin, "anna", secret: "the secret of anna")
    #expect(try await Credentials(connection: fixture.redis).revoke(.operator, "anna"))
    let refused = try await fixture.get("/")
    #expect(refused.status == 403)
    #expect(refused.body.contains("martlet credentials add operator NAME --role admin"))
    #expect(refused.body.contains(CredentialKeys.operatorMark))
    _ = try await fixture.run("DEL", CredentialKeys.operatorMark)
    #expect(try await fixture.get("/").status == 200)
    await fixture.stop()
  }

  @Test func `the last operator of an earlier version leaves the mark too`() async throws {
    let fixture = try await DashboardFixture()
    try await fixture.add(.admin, "anna", secret: "the secret of anna")
    _ = try await fixture.run("DEL", CredentialKeys.operatorMark)
    let credentials = Credentials(connection: fixture.redis)
    #expect(try await credentials.operatorPresence() == .some)
    #expect(try await credentials.revoke(.operator, "anna"))
    #expect(try await credentials.operatorPresence() == .revoked)
    await fixture.stop()
  }

  @Test func `behind a trusted proxy the dashboard needs an operator`() async throws {
    let fixture = try await DashboardFixture { _ = $0.listener.trustedProxies.add("127.0.0.1") }
    let refused = try await fixture.get("/")
    #expect(refused.status == 403)
    #expect(refused.body.contains("MARTLET_TRUSTED_PROXIES") && refused.body.contains("credentials add operator"))
    await fixture.stop()
  }

  @Test func `a trusted proxy elsewhere does not keep this machine out`() async throws {
    let fixture = try await DashboardFixture { _ = $0.listener.trustedProxies.add("192.0.2.1") }
    #expect(try await fixture.get("/").heading == "Overview")
    await fixture.stop()
  }

  @Test func `an operator can sign in when Redis is full`() async throws {
    let fixture = try await DashboardFixture()
    try await fixture.add(.viewer, "vera", secret: "correct horse battery")
    _ = try await fixture.run("CONFIG", "SET", "maxmemory", "1")
    let done = try await fixture.post("/sign-in", [("name", "vera"), ("secret", "correct horse battery")])
    #expect(done.status == 303)
    let cookie = try #require(done.headers["set-cookie"]).prefix { $0 != ";" }
    #expect(try await fixture.get("/", [("Cookie", String(cookie))]).heading == "Overview")
    await fixture.stop()
  }

  /// Signs in, and makes the session old enough for another id. Returns its cookie.
  private func agedSession(_ fixture: DashboardFixture) async throws -> String {
    try await fixture.add(.viewer, "vera", secret: "correct horse battery")
    let done = try await fixture.post("/sign-in", [("name", "vera"), ("secret", "correct horse battery")])
    let cookie = try #require(done.headers["set-cookie"]).prefix { $0 != ";" }
    let id = try #require(SessionID(cookie.drop { $0 != "=" }.dropFirst()))
    let key = SessionStore.key(id)
    let stored = try #require(try await fixture.run("GET", key).string)
    let parts = stored.components(separatedBy: "\"rotatedAt\":")
    let aged = parts[0] + "\"rotatedAt\":1" + parts[1].drop { $0.isNumber }
    _ = try await fixture.run("SET", key, aged)
    return String(cookie)
  }

  @Test func `of requests at the same time one gets another id, and signing out ends all of them`() async throws {
    let fixture = try await DashboardFixture()
    let old = try await agedSession(fixture)
    async let one = fixture.get("/", [("Cookie", old)])
    async let other = fixture.get("/audit", [("Cookie", old)])
    let answers = try await [one, other]
    #expect(answers.map(\.status) == [200, 200])
    let cookies = answers.compactMap { $0.headers["set-cookie"] }
    #expect(cookies.count == 1)
    let new = String(try #require(cookies.first).prefix { $0 != ";" })
    #expect(new != old)
    #expect(try await fixture.get("/", [("Cookie", new)]).status == 200)
    #expect(try await fixture.post("/sign-out", [], [("Cookie", old)]).status == 303)
    for cookie in [old, new] { #expect(try await fixture.get("/", [("Cookie", cookie)]).status == 303) }
    await fixture.stop()
  }

  @Test func `an operator signs in, sees pages and signs out`() async throws {
    let fixture = try await DashboardFixture()
    try await fixture.add(.viewer, "vera", secret: "correct horse battery")
    let first = try await fixture.get("/?a=1")
    #expect(first.status == 303)
    #expect(first.headers["location"] == "./sign-in?next=%3Fa%3D1")
    let form = try await fixture.get("/sign-in?next=credentials")
    #expect(form.heading == "Sign in")
    let done = try await fixture.post(
      "/sign-in", [("name", "vera"), ("secret", "correct horse battery"), ("next", "credentials")])
    #expect(done.status == 303)
    #expect(done.headers["location"] == "./credentials")
    let cookie = try #require(done.headers["set-cookie"])
    #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/"))
    #expect(!cookie.contains("Secure"))
    let session = String(cookie.prefix { $0 != ";" })
    let page = try await fixture.get("/", [("Cookie", session)])
    #expect(page.heading == "Overview")
    #expect(page.body.contains("vera"))
    let out = try await fixture.post("/sign-out", [], [("Cookie", session)])
    #expect(out.status == 303)
    #expect(out.headers["set-cookie"]?.contains("Max-Age=0") == true)
    #expect(try await fixture.get("/", [("Cookie", session)]).status == 303)
    await fixture.stop()
  }

  @Test func `a wrong secret is refused, and a page of another site is never the next one`() async throws {
    let fixture = try await DashboardFixture()
    try await fixture.add(.viewer, "vera", secret: "correct horse battery")
    let wrong = try await fixture.post("/sign-in", [("name", "vera"), ("secret", "<b>"), ("next", "audit")])
    #expect(wrong.status == 401)
    #expect(wrong.headers["set-cookie"] == nil)
    #expect(!wrong.body.contains("<b>"))
    for next in ["//evil.example", "https://evil.example", "\\evil.example", "nowhere", "../x"] {
      let done = try await fixture.post(
        "/sign-in", [("name", "vera"), ("secret", "correct horse battery"), ("next", next)])
      #expect(done.headers["location"] == "./", "\(next)")
    }
    await fixture.stop()
  }

  @Test func `an operator who is revoked, disabled or has a new secret is signed out with the next request`()
    async throws
  {
    let fixture = try await DashboardFixture()
    let credentials = Credentials(connection: fixture.redis)
    try await fixture.add(.admin, "other", secret: "other secret of the operator")
    for change in ["revoke", "disable", "replace"] {
      try await fixture.add(.admin, change, secret: "the first secret \(change)")
      let done = try await fixture.post("/sign-in", [("name", change), ("secret", "the first secret \(change)")])
      let session = try #require(done.headers["set-cookie"]).prefix { $0 != ";" }
      #expect(try await fixture.get("/", [("Cookie", String(session))]).status == 200)
      if change == "disable" {
        _ = try await credentials.setEnabled(false, .operator, change)
      } else {
        _ = try await credentials.revoke(.operator, change)
      }
      if change == "replace" { try await fixture.add(.admin, change, secret: "the second secret") }
      let after = try await fixture.get("/", [("Cookie", String(session))])
      #expect(after.status == 303, "\(change)")
      #expect(after.headers["set-cookie"]?.contains("Max-Age=0") == true)
    }
    await fixture.stop()
  }

  @Test func `a script uses Basic, and too many wrong secrets of a name are refused`() async throws {
    let fixture = try await DashboardFixture { $0.failureLimit = WindowLimit(3, per: .seconds(60)) }
    try await fixture.add(.viewer, "script", secret: "a secret: with colons")
    #expect(try await fixture.get("/", as: "script:a secret: with colons").status == 200)
    for _ in 1...3 { #expect(try await fixture.get("/", as: "script:wrong").status == 401) }
    let blocked = try await fixture.get("/", as: "script:a secret: with colons")
    #expect(blocked.status == 429)
    #expect(blocked.headers["retry-after"] != nil)
    await fixture.stop()
  }

  @Test func `naming many operators allows five times the limit and no more`() async throws {
    let fixture = try await DashboardFixture { $0.failureLimit = WindowLimit(3, per: .seconds(3600)) }
    try await fixture.add(.viewer, "script", secret: "secret")
    for index in 0..<15 { #expect(try await fixture.get("/", as: "made-up-\(index):wrong").status == 401) }
    #expect(try await fixture.get("/", as: "made-up-15:wrong").status == 429)
    #expect(try await fixture.get("/", as: "script:secret").status == 429)
    await fixture.stop()
  }

  @Test(arguments: ["", "martlet-session=", "martlet-session=a; martlet-session=b", "martlet-session=\u{22}x"])
  func `a forged cookie signs nobody in`(_ cookie: String) async throws {
    let fixture = try await DashboardFixture()
    try await fixture.add(.admin, "alice", secret: "the secret of alice")
    #expect(try await fixture.get("/", [("Cookie", cookie)]).status == 303)
    await fixture.stop()
  }

  @Test func `without Redis each page says so`() async throws {
    let fixture = try await DashboardFixture()
    try await fixture.server.kill()
    let page = try await fixture.get("/")
    #expect(page.status == 503)
    #expect(page.body.contains("Redis does not answer"))
    await fixture.stop()
  }

  @Test func `every answer has the fields that keep foreign content out`() async throws {
    let fixture = try await DashboardFixture()
    for path in ["/", "/sign-in", "/nowhere", "/" + Assets.style.path] {
      let answer = try await fixture.get(path)
      #expect(answer.headers["content-security-policy"]?.hasPrefix("default-src 'none'") == true, "\(path)")
      #expect(answer.headers["x-content-type-options"] == "nosniff", "\(path)")
    }
    #expect(try await fixture.get("/").headers["cache-control"] == "no-store")
    #expect(try await fixture.get("/" + Assets.style.path).headers["cache-control"]?.contains("immutable") == true)
    await fixture.stop()
  }
}

import DashboardSupport
import EventLoop
import Testing
import TestSupport

@testable import Credentials
@testable import Dashboard

/// Forms that are refused by their head, while the body has not arrived.
@EventLoop
struct HeadTests {
  @Test(arguments: [
    ("POST /nowhere", "Cookie: martlet-session=a\r\n", 401), ("PUT /dead", "Cookie: martlet-session=a\r\n", 401),
    ("POST /dead", "Authorization: Basic broken\r\n", 401), ("POST /dead", "Authorization: Bearer a\r\n", 401),
    ("POST /dead", "X-Forwarded-For: 192.0.2.1\r\n", 401), ("POST /dead", "Sec-Fetch-Site: cross-site\r\n", 403),
    ("POST /sign-in", "Origin: https://elsewhere.example\r\n", 403), ("PUT /sign-in", "", 405),
    ("POST /sign-out", "", 303),
  ])
  func `is answered at once`(line: String, fields: String, status: Int) async throws {
    let fixture = try await DashboardFixture()
    try await fixture.add(.admin, "head-admin", secret: "secret-of-the-admin")
    let answer = try await Wire.answer(toHead: line, fields, port: fixture.dashboard.port)
    #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(line) \(fields): \(answer.prefix(100))")
    #expect(answer.contains("Connection: close"))
    await fixture.stop()
  }

  @Test func `a form of an operator is read`() async throws {
    let fixture = try await DashboardFixture()
    try await fixture.add(.admin, "head-admin", secret: "secret-of-the-admin")
    let answer = try await fixture.post(
      "/dead", [("action", String(repeating: "a", count: 60_000))], as: "head-admin:secret-of-the-admin")
    #expect(answer.status == 400)
    #expect(answer.headers["connection"]?.lowercased() != "close")
    await fixture.stop()
  }
}

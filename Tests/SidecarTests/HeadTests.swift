import EventLoop
import HTTPServer
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import Credentials

/// Requests that are refused by their head, while the body has not arrived.
@EventLoop
struct HeadTests {
  nonisolated private static let user = "Authorization: Bearer token-of-somebody\r\nX-Username: head-somebody\r\n"

  @Test(arguments: [
    ("POST /nothing", "", 404), ("POST /devices/a/b", "", 404), ("PUT /newpush", "", 405),
    ("GET /api/push/register", user, 405), ("POST /healthz", "", 405), ("GET /healthz", "", 200),
    ("POST /api/push/register", "", 401), ("POST /api/push/register", "X-Username: a\r\n", 401),
    ("POST /api/push/register", "Authorization: Basic YTpi\r\nX-Username: a\r\n", 401),
    ("POST /api/push/register", user + "X-Username: another\r\n", 401),
    ("POST /api/push/register", user + "Origin: https://elsewhere.example\r\n", 403),
    ("POST /devices", "", 401), ("PUT /v1/devices", "X-API-Key: a\r\nX-API-Key: b\r\n", 401),
    ("DELETE /devices/aa", "X-API-Key: key-of-nobody\r\n", 401), ("PATCH /devices", "X-API-Key: a\r\n", 405),
    ("POST /newtoken", "", 401), ("POST /newpush", "Origin: https://elsewhere.example\r\nX-API-Key: a\r\n", 403),
    ("POST /push/apns/register", "X-Nyra-Device-Key: a\r\n", 401), ("PUT /push/apns/register", "", 405),
    ("POST /push/apns/register", "X-Nyra-Device-Key: a\r\nX-Nyra-Instance-Id: not an id\r\n", 401),
  ])
  func `is answered at once`(line: String, fields: String, status: Int) async throws {
    let fixture = try await SidecarFixture()
    let answer = try await Wire.answer(toHead: line, fields, port: fixture.sidecar.port)
    #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(line): \(answer)")
    #expect(answer.contains("Connection: close"))
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `is answered at once after too many failures`() async throws {
    let fixture = try await SidecarFixture { $0.failureLimit = WindowLimit(1, per: .seconds(3600)) }
    let name = "X-Username: head-guessed\r\n"
    // Known to be wrong only after a look at Redis, which a complete request causes.
    _ = try await fixture.push(
      "unregister", ["Authorization": "Bearer wrong-wrong-wrong", "X-Username": "head-guessed"])
    let answer = try await Wire.answer(
      toHead: "POST /api/push/unregister", "Authorization: Bearer wrong-wrong-wrong\r\n\(name)",
      port: fixture.sidecar.port)
    #expect(answer.hasPrefix("HTTP/1.1 429 "), "\(answer)")
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `credentials in their form let the body be read`() async throws {
    let fixture = try await SidecarFixture()
    try await fixture.allow(.key, "head-key", secret: "secret-of-the-head-key")
    let port = fixture.sidecar.port
    let answer = try await blocking {
      let wire = try Wire(port: port)
      wire.send(
        "POST /newtoken HTTP/1.1\r\nHost: x\r\nX-API-Key: secret-of-the-head-key\r\nContent-Length: 2\r\n"
          + "Expect: 100-continue\r\n\r\n")
      let first = try wire.read(until: "100 Continue\r\n\r\n")
      wire.send("{}")
      return first + (try wire.read(until: "}"))
    }
    #expect(answer.contains("HTTP/1.1 400 "))
    await fixture.sidecar.stop(grace: .seconds(1))
  }
}

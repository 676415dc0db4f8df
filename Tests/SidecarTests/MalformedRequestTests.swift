import EventLoop
import HTTPServer
import Sidecar
import SidecarSupport
import Testing
import TestSupport

/// Requests that the server refuses before they reach an API.
@EventLoop
struct MalformedRequestTests {
  nonisolated private static let answers = [
    ("/healthz", "Bad request"), ("/nothing", "Bad request"), ("/api/push/register", "Bad request"),
    ("/notifications", "Bad request"), ("/devices", "Bad request"), ("/newpush", "Bad request"),
    ("/push/apns/register", "invalid_request"),
  ]

  @Test(arguments: answers)
  func `a malformed request is refused in the form of the API`(path: String, error: String) async throws {
    let fixture = try await SidecarFixture()
    let method = ["/healthz", "/notifications", "/nothing"].contains(path) ? "GET" : "POST"
    let answer = try await WebAnswer.ask(
      port: fixture.sidecar.port, method, path, fields: [("Content-Length ", "2")])
    #expect(answer.status == 400)
    #expect(answer.error == error)
    #expect(answer.headers["connection"] == "close")
    #expect(answer.headers["content-type"] == "application/json")
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test(arguments: answers)
  func `too many header fields are refused in the form of the API`(path: String, error: String) async throws {
    let fixture = try await SidecarFixture()
    let fields = (0..<101).map { ("X-\($0)", "a") }
    let method = ["/healthz", "/notifications", "/nothing"].contains(path) ? "GET" : "POST"
    let answer = try await WebAnswer.ask(port: fixture.sidecar.port, method, path, fields: fields)
    #expect(answer.status == 431)
    #expect(answer.error != nil)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `a query of 300 items is refused in the form of the API`() async throws {
    let fixture = try await SidecarFixture()
    let query = String(repeating: "a=b&", count: 300)
    let answer = try await fixture.request("GET", "/devices?\(query)")
    answer.isError(400, "Bad request")
    answer.isCrossOrigin()
    await fixture.sidecar.stop(grace: .seconds(1))
  }
}

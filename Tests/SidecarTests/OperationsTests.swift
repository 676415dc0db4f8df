import EventLoop
import HTTPServer
import JSON
import Sidecar
import SidecarSupport
import Telemetry
import Testing
import TestSupport

@EventLoop
struct OperationsTests {
  @Test func `health and readiness are served`() async throws {
    let fixture = try await SidecarFixture(sender: RecordingSender())
    #expect(try await fixture.request("GET", "/healthz").status == 200)
    let ready = try await fixture.request("GET", "/readyz")
    #expect(ready.status == 200)
    #expect(ready.json?["redis"]?.string == "ok")
    #expect(ready.json?["apns"]?.string == "ok")
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `metrics are not served`() async throws {
    let fixture = try await SidecarFixture()
    let answer = try await fixture.request("GET", "/metrics")
    #expect(answer.status == 404)
    #expect(answer.error == "Not found")
    #expect(!answer.body.contains("martlet_"))
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `without APNs the sidecar is ready, because clients may poll`() async throws {
    let fixture = try await SidecarFixture()
    let ready = try await fixture.request("GET", "/readyz")
    #expect(ready.status == 200)
    #expect(ready.json?["ready"]?.bool == true)
    #expect(ready.json?["redis"]?.string == "ok")
    #expect(ready.json?["apns"]?.string == "not configured")
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `without Redis the sidecar starts and is not ready`() async throws {
    let sidecar = Sidecar(
      SidecarConfiguration(listener: HTTPServerConfiguration(address: .loopback(port: 0))), backend: nil, sender: nil,
      metrics: Metrics(), log: .silent)
    try sidecar.start()
    #expect(try await WebAnswer.ask(port: sidecar.port, "GET", "/healthz").status == 200)
    #expect(try await WebAnswer.ask(port: sidecar.port, "GET", "/readyz").status == 503)
    await sidecar.stop(grace: .seconds(1))
  }

  @Test func `after Redis has stopped the sidecar is not ready`() async throws {
    let server = try await RedisServer()
    let fixture = try await SidecarFixture(server: server)
    #expect(try await fixture.request("GET", "/readyz").status == 200)
    try await server.kill()
    try await eventually("/readyz answers 503") {
      let answer = try await fixture.request("GET", "/readyz")
      return answer.status == 503 && answer.json?["redis"]?.string == "unreachable"
    }
    await fixture.sidecar.stop(grace: .seconds(1))
    try await server.stop()
  }

  @Test func `unknown paths are 404, and other methods are refused with the allowed ones`() async throws {
    let fixture = try await SidecarFixture()
    #expect(try await fixture.request("GET", "/nothing").error == "Not found")
    let refused = try await fixture.request("POST", "/healthz")
    #expect(refused.status == 405)
    #expect(refused.headers["allow"] == "GET, HEAD")
    await fixture.sidecar.stop(grace: .seconds(1))
  }
}

import PushModel
import EventLoop
import HTTPServer
import JSON
import Redis
import RedisSupport
import Registry
import Sidecar
import SidecarSupport
import Telemetry
import Testing
import TestSupport
@testable import Credentials

/// The checks before every route: order, texts, and the header fields of every answer.
@EventLoop
struct PushGateTests {
  private static let origin = "http://localhost:3000"
  private nonisolated static let routes = ["register", "unregister", "test"]
  private static let evil = ["Origin": "https://evil.example"]

  /// The first check that fails answers. Each step corrects one more.
  @Test(arguments: routes)
  func `checks are made in the order of the document`(route: String) async throws {
    let fixture = try await SidecarFixture { $0.missingAPNsVariables = ["APNS_KEY_ID"] }
    let name = "order-\(route)"
    let good = try await fixture.user(name)
    let path = "/api/push/\(route)"
    let refused = try await fixture.request("PUT", path, Self.evil, body: "[")
    #expect((refused.status, refused.error) == (403, "Unauthorized"))
    let method = try await fixture.request("PUT", path, ["Origin": Self.origin], body: "[")
    #expect((method.status, method.error) == (405, "Method not allowed"))
    let nobody = try await fixture.request("POST", path, ["X-Username": name], body: "[")
    #expect((nobody.status, nobody.error) == (401, "Unauthorized - missing credentials"))
    let wrong = good.merging(["Authorization": "Bearer wrong"]) { _, new in new }
    let stranger = try await fixture.request("POST", path, wrong, body: "[")
    #expect((stranger.status, stranger.error) == (401, "Unauthorized - invalid token"))
    let last = try await fixture.request("POST", path, good, body: "[")
    if route == "test" {
      #expect((last.status, last.error) == (500, "APNs is not configured."))
      #expect(last.json?["missingEnvVars"] == .array([.string("APNS_KEY_ID")]))
    } else {
      #expect((last.status, last.error) == (400, "Request body must be a JSON object"))
    }
  }

  @Test(arguments: routes)
  func `without Redis the answer lists the missing settings if credentials were sent`(route: String) async throws {
    var configuration = SidecarConfiguration(listener: HTTPServerConfiguration(address: .loopback(port: 0)))
    configuration.missingRedisVariables = ["REDIS_KV_REST_API_TOKEN"]
    let sidecar = Sidecar(configuration, backend: nil, sender: nil, metrics: Metrics(), log: .silent)
    try sidecar.start()
    let path = "/api/push/\(route)"
    #expect(try await WebAnswer.ask(port: sidecar.port, "POST", path, body: "{}").status == 401)
    let fields = [("Authorization", "Bearer x"), ("X-Username", "a"), ("X-Username", "b")]
    let answer = try await WebAnswer.ask(port: sidecar.port, "POST", path, fields: fields)
    #expect(answer.status == 500)
    #expect(
      answer.body == #"{"error":"Redis is not configured.","missingEnvVars":["REDIS_KV_REST_API_TOKEN"]}"#)
    await sidecar.stop(grace: .seconds(1))
  }

  @Test func `credentials are valid for one user, with the name in any case, until they are revoked`() async throws {
    let fixture = try await SidecarFixture()
    var headers = try await fixture.user("gate-alice")
    headers["X-Username"] = "  Gate-ALICE "
    headers["Authorization"] = headers["Authorization"].map { $0.replacing("Bearer", with: "bEARER") }
    #expect(try await fixture.push("unregister", headers).status == 200)
    _ = try await fixture.user("gate-bob")
    headers["X-Username"] = "gate-bob"
    #expect(try await fixture.push("unregister", headers).error == "Unauthorized - invalid token")
    headers["X-Username"] = "gate-alice"
    _ = try await fixture.backend.credentials.setEnabled(false, .user, "gate-alice")
    #expect(try await fixture.push("unregister", headers).error == "Unauthorized - invalid token")
    _ = try await fixture.backend.credentials.revoke(.user, "gate-alice")
    #expect(try await fixture.push("unregister", headers).error == "Unauthorized - invalid token")
  }

  @Test(arguments: ["Authorization", "X-Username"])
  func `repeated credentials are refused`(name: String) async throws {
    let fixture = try await SidecarFixture()
    let good = try await fixture.user("gate-twice")
    let fields = good.map { ($0.key, $0.value) } + [(name, good[name] ?? "")]
    let answer = try await WebAnswer.ask(port: fixture.sidecar.port, "POST", "/api/push/unregister", fields: fields)
    #expect((answer.status, answer.error) == (401, "Unauthorized - invalid token"))
  }

  @Test func `a fault of Redis is 500 without details`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await fixture.user("gate-broken")
    _ = try await fixture.run("SET", RegistryKeys.userTokens("gate-broken"), "no set")
    for body in ["{}", #"{"token":"\#(fixture.token("broken"))"}"#] {
      let answer = try await fixture.push("unregister", headers.merging(["Origin": Self.origin]) { a, _ in a }, body)
      #expect(answer.status == 500)
      #expect(answer.body == #"{"error":"Internal server error"}"#)
      #expect(answer.headers["access-control-allow-origin"] == Self.origin)
    }
    _ = try await fixture.run("DEL", RegistryKeys.userTokens("gate-broken"))
  }

  @Test func `after Redis has stopped the answer is the same`() async throws {
    let server = try await RedisServer()
    let redis = try await RedisClient.connected(to: server.url)
    let sidecar = Sidecar(
      SidecarConfiguration(listener: HTTPServerConfiguration(address: .loopback(port: 0))),
      backend: Backend(connection: redis, log: .silent), sender: nil,
      metrics: Metrics(), log: .silent)
    try sidecar.start()
    try await server.stop()
    for route in Self.routes {
      let answer = try await WebAnswer.ask(
        port: sidecar.port, "POST", "/api/push/\(route)", ["Authorization": "Bearer x", "X-Username": "a"], body: "{}")
      #expect((answer.status, answer.body) == (500, #"{"error":"Internal server error"}"#))
    }
    await sidecar.stop(grace: .seconds(1))
    redis.close()
  }

  // MARK: - Fields

  private func expectCORS(_ answer: WebAnswer, vary: String = "Origin") {
    #expect(answer.headers["vary"] == vary)
    #expect(answer.headers["access-control-allow-origin"] == Self.origin)
    #expect(answer.headers["access-control-allow-methods"] == "POST, OPTIONS")
    #expect(answer.headers["access-control-allow-credentials"] == "true")
    #expect(answer.headers["access-control-max-age"] == "86400")
  }

  @Test(arguments: routes)
  func `every answer to an allowed page carries the CORS fields`(route: String) async throws {
    let fixture = try await SidecarFixture()
    let good = try await fixture.user("cors-\(route)").merging(["Origin": Self.origin]) { a, _ in a }
    let path = "/api/push/\(route)"
    let large = String(repeating: " ", count: 65_537)
    let answers = [
      try await fixture.request("POST", path, good, body: "{}"),
      try await fixture.request("POST", path, good, body: "["),
      try await fixture.request("POST", path, ["Origin": Self.origin], body: "{}"),
      try await fixture.request("GET", path, good), try await fixture.request("HEAD", path, good),
      try await fixture.request("DELETE", path, good), try await fixture.request("POST", path, good, body: large),
      try await fixture.request("POST", path + "?x=%zz", good, body: "{}"),
    ]
    for answer in answers { expectCORS(answer) }
    #expect(answers[3...5].map(\.status) == [405, 405, 405])
    #expect(answers[3...5].allSatisfy { $0.headers["allow"] == "POST, OPTIONS" })
    #expect((answers[6].status, answers[6].error) == (413, "Request body is too large (max 65536 bytes)"))
    #expect((answers[7].status, answers[7].error) == (400, "Bad request"))
  }

  @Test(arguments: ["POST", "GET", "OPTIONS"])
  func `a page that may not call gets no CORS fields but Vary`(method: String) async throws {
    let fixture = try await SidecarFixture()
    let large = String(repeating: " ", count: 65_537)
    for body in [nil, large] {
      let answer = try await fixture.request(method, "/api/push/test", Self.evil, body: body)
      #expect((answer.status, answer.error) == (403, "Unauthorized"))
      #expect(answer.headers["vary"]?.hasPrefix("Origin") == true)
      #expect(answer.headers["access-control-allow-origin"] == nil)
    }
  }

  @Test func `a preflight is answered without credentials`() async throws {
    let fixture = try await SidecarFixture()
    let vary = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    let plain = try await fixture.request("OPTIONS", "/api/push/register", ["Origin": Self.origin])
    #expect(plain.status == 204)
    #expect(plain.body.isEmpty)
    #expect(plain.headers["access-control-allow-headers"] == "Content-Type, Authorization, X-Username")
    expectCORS(plain, vary: vary)
    let asked = try await fixture.request(
      "OPTIONS", "/api/push/register",
      [
        "Origin": Self.origin, "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": " authorization,X-Custom, AUTHORIZATION ,b@d",
      ])
    #expect(asked.status == 204)
    #expect(asked.headers["access-control-allow-headers"] == "authorization, X-Custom")
    let wrong = try await fixture.request(
      "OPTIONS", "/api/push/register", ["Origin": Self.origin, "Access-Control-Request-Method": "PUT"])
    #expect((wrong.status, wrong.error) == (405, "Method not allowed"))
    #expect(wrong.headers["allow"] == "POST, OPTIONS")
    expectCORS(wrong, vary: vary)
  }

  @Test func `a request without an origin passes, and Referer replaces a missing Origin`() async throws {
    let fixture = try await SidecarFixture()
    let good = try await fixture.user("gate-referer")
    let bare = try await fixture.push("unregister", good)
    #expect(bare.status == 200)
    #expect(bare.headers["vary"] == "Origin")
    #expect(bare.headers["access-control-allow-origin"] == nil)
    let page = good.merging(["Referer": Self.origin + "/settings?x=1"]) { a, _ in a }
    expectCORS(try await fixture.push("unregister", page))
    let evil = good.merging(["Referer": "https://evil.example/localhost:3000"]) { a, _ in a }
    #expect(try await fixture.push("unregister", evil).status == 403)
  }
}

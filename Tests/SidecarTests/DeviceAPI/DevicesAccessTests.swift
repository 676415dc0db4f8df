import PushModel
import EventLoop
import HTTPServer
import Registry
import Sidecar
import SidecarSupport
import Telemetry
import Testing
import TestSupport
@testable import Credentials

/// Access to the device API, and its answers without Redis.
@EventLoop
struct DevicesAccessTests {
  private nonisolated static let requests = [
    ("POST", "/devices"), ("PUT", "/v1/devices"), ("GET", "/devices?userId=a"), ("DELETE", "/devices/x"),
  ]

  @Test func `a preflight needs no key`() async throws {
    let client = try await APIClient()
    for path in ["/devices", "/v1/devices", "/devices/x", "/v1/devices/%2F"] {
      let answer = try await client.fixture.request("OPTIONS", path)
      #expect(answer.status == 204)
      #expect(answer.body.isEmpty)
      answer.isCrossOrigin()
    }
    await client.stop()
  }

  @Test(arguments: requests)
  func `a request without exactly one known and enabled key is refused`(method: String, path: String) async throws {
    let client = try await APIClient()
    try await client.allow(client.unique("disabled"), secret: client.unique("disabled"), isEnabled: false)
    try await client.allow(client.unique("huge"), secret: String(repeating: "h", count: 513) + client.unique(""))
    let faults: [[(String, String)]] = [
      [], [("X-API-Key", "")], [("X-API-Key", "wrong")], [("X-API-Key", client.key), ("X-API-Key", client.key)],
      [("x-api-key", client.key), ("X-Api-Key", "wrong")], [("X-API-Key", "\(client.key), \(client.key)")],
      [("X-API-Key", client.unique("disabled"))],
      [("X-API-Key", String(repeating: "h", count: 513) + client.unique(""))],
      [("Authorization", "Bearer \(client.key)")], [("X-API-Key", client.key.uppercased())],
    ]
    for fields in faults {
      let answer = try await WebAnswer.ask(port: client.fixture.sidecar.port, method, path, fields: fields)
      answer.isError(401, "Unauthorized")
      answer.isCrossOrigin()
      #expect(!answer.body.contains(client.key))
    }
    await client.stop()
  }

  @Test(arguments: requests)
  func `a key without the scope is forbidden`(method: String, path: String) async throws {
    let client = try await APIClient(scopes: [.push, .tokens])
    let answer = try await client.send(method, path)
    answer.isError(403, "Forbidden")
    answer.isCrossOrigin()
    await client.stop()
  }

  @Test func `other methods are refused with the allowed ones`() async throws {
    let client = try await APIClient()
    for (method, path, allowed) in [
      ("PATCH", "/devices", "GET, POST, PUT, OPTIONS"), ("DELETE", "/v1/devices", "GET, POST, PUT, OPTIONS"),
      ("GET", "/devices/x", "DELETE, OPTIONS"), ("POST", "/v1/devices/x", "DELETE, OPTIONS"),
    ] {
      let answer = try await client.send(method, path)
      answer.isError(405, "Method not allowed")
      answer.isCrossOrigin()
      #expect(answer.headers["allow"] == allowed)
    }
    await client.stop()
  }

  @Test(arguments: [
    "/devices/a/b", "/devices/a/", "/v1/devices/a/b?x=1", "/v1/devices//", "/devices/a/é", "/devices/a/b?%",
    "/devices/\(String(repeating: "a", count: 3000))/b",
  ])
  func `an unknown path below the devices is 404 with the CORS fields`(path: String) async throws {
    let client = try await APIClient()
    for method in ["GET", "DELETE", "OPTIONS"] {
      let answer = try await client.send(method, path)
      path.hasSuffix("%") ? answer.isError(400, "Bad request") : answer.isError(404, "Not found")
      answer.isCrossOrigin()
    }
    await client.stop()
  }

  @Test(arguments: requests)
  func `without Redis the answer is 500 in the form of the API`(method: String, path: String) async throws {
    let sidecar = Sidecar(
      SidecarConfiguration(listener: HTTPServerConfiguration(address: .loopback(port: 0))), backend: nil, sender: nil,
      metrics: Metrics(), log: .silent)
    try sidecar.start()
    let answer = try await WebAnswer.ask(port: sidecar.port, method, path, ["X-API-Key": "x"])
    answer.isError(500, "Internal server error")
    answer.isCrossOrigin()
    await sidecar.stop(grace: .seconds(1))
  }

  @Test func `after Redis has stopped the answer is 500 in the form of the API`() async throws {
    let server = try await RedisServer()
    let client = try await APIClient(server: server)
    try await server.kill()
    let body = #"{"deviceToken":"\#(client.token("outage"))","userId":"outage"}"#
    let answer = try await client.send("POST", "/devices", body)
    answer.isError(500, "Internal server error")
    answer.isCrossOrigin()
    await client.stop()
    try await server.stop()
  }

  @Test func `while Redis is full devices are not added, but replaced and removed`() async throws {
    let server = try await RedisServer()
    let client = try await APIClient(server: server)
    let (known, fresh) = (client.token("known"), client.token("fresh"))
    try await client.register(known, "user", app: "com.example.full")
    try await server.redisCLI("CONFIG", "SET", "maxmemory", "1")
    let refused = try await client.send("POST", "/devices", #"{"deviceToken":"\#(fresh)","userId":"user"}"#)
    refused.isError(500, "Internal server error")
    refused.isCrossOrigin()
    let swap = #"{"currentToken":"\#(known)","newToken":"\#(fresh)","userId":"user"}"#
    #expect(try await client.send("PUT", "/devices", swap).status == 200)
    #expect(try await client.devices(of: "user") == [fresh])
    #expect(try await client.send("DELETE", "/devices/\(fresh)").status == 200)
    #expect(try await client.devices(of: "user").isEmpty)
    await client.stop()
    try await server.stop()
  }
}

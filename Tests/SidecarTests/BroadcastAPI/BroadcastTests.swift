import PushModel
import EventLoop
import Foundation
import HTTPServer
import Jobs
import JSON
import Redis
import Registry
import Sidecar
import SidecarSupport
import Telemetry
import Testing
import TestSupport
@testable import Credentials

/// docs/http/broadcast-api.md.
@EventLoop
struct BroadcastTests {
  private nonisolated static let form = ["Content-Type": "application/x-www-form-urlencoded"]

  private func queue(_ client: APIClient, _ name: String) async throws -> [String] {
    try await client.fixture.run("LRANGE", name, "0", "-1").array?.compactMap(\.string) ?? []
  }

  @Test(arguments: ["bundleId", "bundledId"])
  func `a token is registered for its app as an anonymous device`(field: String) async throws {
    let client = try await APIClient()
    let app = client.app("new")
    let (first, second) = (client.token("json"), client.token("form"))
    let answer = try await client.send("POST", "/newtoken", #"{"token":"\#(first)","\#(field)":"\#(app)"}"#)
    #expect(answer.status == 200)
    #expect(answer.body == #"{"success":true}"#)
    let formed = try await client.send("POST", "/newtoken", "token=\(second)&\(field)=\(app)", Self.form)
    #expect(formed.status == 200, "\(formed.body)")
    for token in [first, second] {
      let metadata = try #require(try await client.metadata(token))
      #expect(metadata.username.isEmpty)
      #expect(metadata.bundleID == app)
      #expect(metadata.platform == .ios)
      #expect(metadata.createdAt == metadata.updatedAt)
      #expect(try await client.isAudience(app, token))
    }
    #expect(try await client.devices(of: "").isEmpty)
    await client.stop()
  }

  @Test func `the description of iOS data is accepted as a token`() async throws {
    let client = try await APIClient()
    let token = client.token("described")
    let groups = stride(from: 0, to: 64, by: 8).map { String(Array(token)[$0..<$0 + 8]) }.joined(separator: " ")
    let answer = try await client.send(
      "POST", "/newtoken", #"{"token":"<\#(groups.uppercased())>","bundleId":"\#(client.app("d"))"}"#)
    #expect(answer.status == 200)
    #expect(try await client.metadata(token) != nil)
    await client.stop()
  }

  @Test func `a device that has an owner is left as it is`() async throws {
    let client = try await APIClient()
    let (token, user) = (client.token("owned"), client.unique("owner"))
    try await client.register(token, Username(user), app: client.app("before"), platform: .android, now: 1000)
    let answer = try await client.send(
      "POST", "/newtoken", #"{"token":"\#(token)","bundleId":"\#(client.app("after"))"}"#)
    #expect(answer.status == 200)
    #expect(
      try await client.metadata(token)
        == DeviceMetadata(
          username: Username(user), platform: .android, updatedAt: 1000, bundleID: client.app("before"), createdAt: 1000
        ))
    #expect(try await client.devices(of: Username(user)) == [token])
    #expect(try await client.isAudience(client.app("before"), token))
    #expect(try await !client.isAudience(client.app("after"), token))
    await client.stop()
  }

  @Test(arguments: ["bundleId", "bundledId"])
  func `a push is enqueued as a job for everyone of the app`(field: String) async throws {
    let client = try await APIClient { $0.queue = "push:jobs:\($0.listener.address):\(field)" }
    let queue = "push:jobs:127.0.0.1:0:\(field)"
    _ = try await client.fixture.run("DEL", queue)
    let app = client.app("push")
    let first = try await client.send(
      "POST", "/newpush", #"{"\#(field)":"\#(app)","title":"Größe \"1\"","body":"Line\nbreak","extra":1}"#)
    #expect(first.status == 200)
    let second = try await client.send("POST", "/newpush", "\(field)=\(app)&body=50%25+off%21&title=", Self.form)
    #expect(second.status == 200, "\(second.body)")
    let jobs = try await self.queue(client, queue)
    #expect(jobs.count == 2)
    for (answer, text, alert) in [
      (second, jobs[0], #"{"body":"50% off!"}"#),
      (first, jobs[1], #"{"title":"Größe \"1\"","body":"Line\nbreak"}"#),
    ] {
      let job = try Job(parsing: Array(text.utf8))
      #expect(job.id == answer.json?["id"]?.string)
      #expect(job.addressee == .app(app))
      #expect(job.content == .payload(Array(#"{"aps":{"alert":\#(alert)}}"#.utf8)))
    }
    await client.stop()
  }

  @Test func `every push has an id of its own`() async throws {
    let client = try await APIClient { $0.queue = "push:jobs:ids" }
    var ids: Set<String> = []
    for _ in 0..<5 {
      let answer = try await client.send("POST", "/newpush", #"{"bundleId":"\#(client.app("ids"))","body":"x"}"#)
      ids.insert(try #require(answer.json?["id"]?.string))
    }
    #expect(ids.count == 5)
    await client.stop()
  }

  @Test func `each route requires a key with its scope`() async throws {
    let client = try await APIClient(scopes: [.tokens]) { $0.queue = "push:jobs:scopes" }
    let token = #"{"token":"\#(client.token("scope"))","bundleId":"\#(client.app("scope"))"}"#
    let push = #"{"bundleId":"\#(client.app("scope"))","body":"x"}"#
    #expect(try await client.send("POST", "/newtoken", token).status == 200)
    try await client.send("POST", "/newpush", push).isError(403, "Forbidden")
    let pusher = client.unique("pusher")
    try await client.allow(pusher, secret: pusher, scopes: [.push])
    #expect(try await client.send("POST", "/newpush", push, ["X-API-Key": pusher]).status == 200)
    try await client.send("POST", "/newtoken", token, ["X-API-Key": pusher]).isError(403, "Forbidden")
    for path in ["/newtoken", "/newpush"] {
      for fields in [[], [("X-API-Key", "wrong")], [("X-API-Key", client.key), ("X-API-Key", client.key)]] {
        let answer = try await WebAnswer.ask(port: client.fixture.sidecar.port, "POST", path, fields: fields)
        answer.isError(401, "Unauthorized")
      }
    }
    await client.stop()
  }

  @Test func `without required keys any request is accepted`() async throws {
    let client = try await APIClient {
      $0.isBroadcastOpen = true
      $0.queue = "push:jobs:open"
    }
    let (token, app) = (client.token("open"), client.app("open"))
    let port = client.fixture.sidecar.port
    let registered = try await WebAnswer.ask(
      port: port, "POST", "/newtoken", body: #"{"token":"\#(token)","bundledId":"\#(app)"}"#)
    #expect(registered.status == 200)
    let pushed = try await WebAnswer.ask(
      port: port, "POST", "/newpush", ["X-API-Key": "wrong"], body: #"{"bundleId":"\#(app)","body":"x"}"#)
    #expect(pushed.status == 200)
    // The device API stays closed.
    try await WebAnswer.ask(port: port, "GET", "/devices?userId=a").isError(401)
    await client.stop()
  }

  @Test(arguments: ["/newtoken", "/newpush"])
  func `another method is refused with the allowed one`(path: String) async throws {
    let client = try await APIClient()
    for method in ["GET", "PUT"] {
      let answer = try await client.send(method, path)
      answer.isError(405, "Method not allowed")
      #expect(answer.headers["allow"] == "POST, OPTIONS")
    }
    await client.stop()
  }

  @Test(arguments: ["/newtoken", "/newpush"], [true, false])
  func `the origin policy applies to pages, with and without keys`(path: String, isOpen: Bool) async throws {
    let queue = "push:jobs:origin\(isOpen)\(path.dropFirst())"
    let client = try await APIClient {
      $0.isBroadcastOpen = isOpen
      $0.queue = queue
      $0.originPolicy.environment = .production
      $0.originPolicy.allowedOrigins = ["https://app.example"]
    }
    let token = client.token("origin\(isOpen)")
    let body = #"{"token":"\#(token)","body":"x","bundleId":"\#(client.app("origin"))"}"#
    for fields in [
      ["Origin": "https://evil.example"], ["Origin": "null"], ["Referer": "https://evil.example/page"],
      ["Origin": "https://evil.example", "Content-Type": "application/x-www-form-urlencoded"],
    ] {
      try await client.send("POST", path, body, fields).isError(403, "Unauthorized")
      try await client.send("OPTIONS", path, nil, fields).isError(403, "Unauthorized")
      try await client.send("POST", path, String(repeating: "x", count: 65_537), fields).isError(403, "Unauthorized")
    }
    #expect(try await client.metadata(token) == nil)
    #expect(try await client.fixture.run("EXISTS", queue).integer == 0)
    let page = ["Origin": "https://app.example"]
    let preflight = try await client.fixture.request(
      "OPTIONS", path, page.merging(["Access-Control-Request-Headers": "X-API-Key, Content-Type"]) { $1 })
    #expect(preflight.status == 204)
    #expect(preflight.headers["access-control-allow-origin"] == "https://app.example")
    #expect(preflight.headers["access-control-allow-headers"] == "X-API-Key, Content-Type")
    #expect(preflight.headers["access-control-allow-methods"] == "POST, OPTIONS")
    let called = try await client.send("POST", path, body, page)
    #expect(called.status == 200)
    #expect(called.headers["access-control-allow-origin"] == "https://app.example")
    #expect(try await client.send("POST", path, body).status == 200)
    if !isOpen {
      let stranger = try await client.send("POST", path, body, page.merging(["X-API-Key": "wrong"]) { $1 })
      stranger.isError(401, "Unauthorized")
      #expect(stranger.headers["access-control-allow-origin"] == "https://app.example")
    }
    await client.stop()
  }

  @Test(arguments: ["/newtoken", "/newpush"])
  func `without redis the answer is 500`(path: String) async throws {
    var configuration = SidecarConfiguration(listener: HTTPServerConfiguration(address: .loopback(port: 0)))
    configuration.isBroadcastOpen = true
    let sidecar = Sidecar(configuration, backend: nil, sender: nil, metrics: Metrics(), log: .silent)
    try sidecar.start()
    try await WebAnswer.ask(port: sidecar.port, "POST", path, body: "{}").isError(500, "Internal server error")
    await sidecar.stop(grace: .seconds(1))
  }

  @Test func `while Redis is full the answer is 500, and nothing is enqueued or registered`() async throws {
    let server = try await RedisServer()
    let client = try await APIClient({ $0.queue = "push:jobs:full" }, server: server)
    try await server.redisCLI("CONFIG", "SET", "maxmemory", "1")
    let push = try await client.send("POST", "/newpush", #"{"bundleId":"com.example.full","body":"x"}"#)
    push.isError(500, "Internal server error")
    let token = client.token("full")
    let registered = try await client.send("POST", "/newtoken", #"{"token":"\#(token)","bundleId":"com.example.full"}"#)
    registered.isError(500, "Internal server error")
    #expect(try await queue(client, "push:jobs:full").isEmpty)
    #expect(try await client.metadata(token) == nil)
    #expect(try await !client.isAudience("com.example.full", token))
    await client.stop()
    try await server.stop()
  }
}

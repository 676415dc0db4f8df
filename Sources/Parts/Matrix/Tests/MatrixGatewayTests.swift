import Credentials
import Crypto
import EventLoop
import Foundation
import HTTPServer
import Jobs
import JSON
import PushModel
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import Matrix

/// docs/http/matrix-api.md.
@EventLoop
struct MatrixGatewayTests {
  private static let path = "/_matrix/push/v1/notify"

  private func fixture(
    _ queue: String, _ adapt: (inout SidecarConfiguration) -> Void = { _ in }, server: RedisServer? = nil
  ) async throws -> SidecarFixture {
    try await SidecarFixture(
      {
        let apps = MatrixApps(["im.app.*": .init(bundleID: "im.app", environment: .sandbox)])
        $0.apis = [{ MatrixAPI($0, MatrixFile(path: ""), apps) }]
        $0.queue = "push:jobs:matrix-" + queue
        adapt(&$0)
      }, server: server)
  }

  private func token(_ name: String) -> String { SHA256.hex("matrix-" + name) }

  private func device(_ pushkey: String, app: String = "im.app.ios", setAt: Int64 = 1000) -> String {
    #"{"app_id":"\#(app)","pushkey":"\#(pushkey)","pushkey_ts":\#(setAt)}"#
  }

  private func body(_ devices: [String], event: String = "$e") -> String {
    #"{"notification":{"event_id":"\#(event)","type":"m.room.message","devices":[\#(devices.joined(separator: ","))]}}"#
  }

  private func notify(_ fixture: SidecarFixture, _ body: String) async throws -> WebAnswer {
    try await fixture.request("POST", Self.path, body: body)
  }

  private func jobs(_ fixture: SidecarFixture, _ queue: String) async throws -> [Job] {
    let elements = try await fixture.run("LRANGE", "push:jobs:matrix-" + queue, "0", "-1").array ?? []
    return try elements.compactMap(\.bytes).map { try Job(parsing: $0) }
  }

  private func isError(
    _ answer: WebAnswer, _ status: Int, _ code: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(answer.status == status, "\(answer.body)", sourceLocation: sourceLocation)
    #expect(answer.keys == ["errcode", "error"], sourceLocation: sourceLocation)
    #expect(answer.json?["errcode"]?.string == code, sourceLocation: sourceLocation)
  }

  @Test func `each device gets a job, and what can never work is rejected`() async throws {
    let fixture = try await fixture("each")
    let (first, second) = (token("first"), token("second"))
    let answer = try await notify(
      fixture,
      body([
        device(first), device("bad"), device(second.uppercased()), device(token("stranger"), app: "org.other"),
        #"{"app_id":"im.app.ios","pushkey":"\#(token("odd"))","data":{"default_payload":[]}}"#,
      ]))
    #expect(answer.status == 200)
    #expect(answer.body == #"{"rejected":["bad","\#(token("stranger"))","\#(token("odd"))"]}"#)
    #expect(
      try await jobs(fixture, "each").map(\.addressee) == [.token(DeviceToken(second)), .token(DeviceToken(first))])
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `nothing in the registry changes, and the job has what is known of the device`() async throws {
    let fixture = try await fixture("register")
    let (new, known, future) = (token("new"), token("known"), token("future"))
    try await fixture.backend.registry.register(
      Registration(token: DeviceToken(known), username: "matrix-owner", platform: .ios, bundleID: "im.app", now: 7))
    let before = try await fixture.metadata(known)
    let devices = [device(new), device(known), device(future, setAt: 99_999_999_999)]
    #expect(try await notify(fixture, body(devices)).body == #"{"rejected":[]}"#)
    for name in [new, future] {
      #expect(try await fixture.metadata(name) == nil)
      #expect(try await !fixture.audience("im.app", of: name))
    }
    #expect(try await fixture.metadata(known) == before)
    let pushers = try await jobs(fixture, "register").map(\.pusher)
    #expect(pushers[2] == Pusher(environment: .sandbox, setAt: 1_000_999, address: "127.0.0.1"))
    // Of a pusher that was set in the future, by the clock of its homeserver.
    #expect((pushers[0]?.setAt ?? .max) <= Clock.unixMilliseconds)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `a device that APNs called gone since the pusher was set is rejected without a job, to its client alone`()
    async throws
  {
    let fixture = try await fixture("gone") { _ = $0.listener.trustedProxies.add("127.0.0.1") }
    let (gone, here) = (token("gone"), "203.0.113.80")
    func notify(_ setAt: Int64, from address: String) async throws -> String {
      let body = body([device(gone, setAt: setAt)], event: "$\(setAt)\(address)")
      return try await fixture.request("POST", Self.path, ["X-Forwarded-For": address], body: body).body
    }
    fixture.backend.registry.keep(DeviceToken(gone), of: "im.app", goneSince: 2_000_000, for: here)
    try await eventually("the note") {
      try await fixture.run("EXISTS", RegistryKeys.gone(here)).integer == 1
    }
    #expect(try await notify(1999, from: here) == #"{"rejected":["\#(gone)"]}"#)
    #expect(try await jobs(fixture, "gone").isEmpty)
    #expect(try await notify(2000, from: here) == #"{"rejected":[]}"#)
    // Nobody rejects the pushers of another homeserver.
    #expect(try await notify(1999, from: "203.0.113.81") == #"{"rejected":[]}"#)
    #expect(try await jobs(fixture, "gone").count == 2)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `a client of the gateway fills only what is remembered for it`() async throws {
    let fixture = try await fixture("full")
    let registry = fixture.backend.registry
    let full = (0..<Registry.maximumGone).reduce(RedisCommand("HSET", RegistryKeys.gone("203.0.113.90"))) {
      $0.with("\($1)").with("1")
    }
    _ = try await fixture.backend.connection.send(full)
    for client in ["203.0.113.90", "203.0.113.91"] {
      registry.keep(DeviceToken(token("full")), of: "im.app", goneSince: 7, for: client)
    }
    try await eventually("the note") {
      try await fixture.run("EXISTS", RegistryKeys.gone("203.0.113.91")).integer == 1
    }
    let devices = [(token: DeviceToken(token("full")), app: "im.app")]
    #expect(try await registry.goneSince(devices, for: "203.0.113.91") == [7])
    #expect(try await registry.goneSince(devices, for: "203.0.113.90") == [nil])
    #expect(try await fixture.run("HLEN", RegistryKeys.gone("203.0.113.90")).integer == Int64(Registry.maximumGone))
    #expect(try await fixture.run("TTL", RegistryKeys.gone("203.0.113.91")).integer ?? 0 > 250_000)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `one device over its limit refuses the notification before anything is counted`() async throws {
    let fixture = try await fixture("whole") {
      $0.deviceNotificationLimit = WindowLimit(1, per: .seconds(3600))
      $0.notificationLimit = WindowLimit(3, per: .seconds(3600))
      _ = $0.listener.trustedProxies.add("127.0.0.1")
    }
    func notify(_ names: [String]) async throws -> Int {
      let body = body(names.map { device(token($0)) }, event: "$" + names.joined())
      return try await fixture.request("POST", Self.path, ["X-Forwarded-For": "203.0.113.95"], body: body).status
    }
    #expect(try await notify(["whole-1"]) == 200)
    for _ in 1...5 { #expect(try await notify(["whole-2", "whole-1"]) == 429) }
    #expect(try await notify(["whole-2"]) == 200)
    #expect(try await notify(["whole-3"]) == 200)
    #expect(try await notify(["whole-4"]) == 429)
    #expect(try await jobs(fixture, "whole").count == 3)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `notifications are limited by device and by the client's address`() async throws {
    let fixture = try await fixture("limits") {
      $0.deviceNotificationLimit = WindowLimit(2, per: .seconds(3600))
      $0.notificationLimit = WindowLimit(3, per: .seconds(3600))
      _ = $0.listener.trustedProxies.add("127.0.0.1")
    }
    func notify(_ name: String, from address: String) async throws -> WebAnswer {
      try await fixture.request(
        "POST", Self.path, ["X-Forwarded-For": address], body: body([device(token(name))], event: "$\(address)"))
    }
    for _ in 1...2 { #expect(try await notify("often", from: "203.0.113.70").status == 200) }
    let limited = try await notify("often", from: "203.0.113.70")
    isError(limited, 429, "M_LIMIT_EXCEEDED")
    #expect((1...3600).contains(Int(limited.headers["retry-after"] ?? "") ?? 0))
    isError(try await notify("often", from: "203.0.113.71"), 429, "M_LIMIT_EXCEEDED")
    #expect(try await notify("seldom", from: "203.0.113.70").status == 200)
    isError(try await notify("other", from: "203.0.113.70"), 429, "M_LIMIT_EXCEEDED")
    #expect(try await notify("other", from: "203.0.113.71").status == 200)
    #expect(try await jobs(fixture, "limits").count == 4)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `the limit of an address counts jobs, and a request that exceeds it alone passes once`() async throws {
    let fixture = try await fixture("weights") {
      $0.notificationLimit = WindowLimit(5, per: .seconds(3600))
      _ = $0.listener.trustedProxies.add("127.0.0.1")
    }
    func notify(_ names: [String], from address: String) async throws -> Int {
      let body = body(names.map { device(token("weights-" + $0)) }, event: "$" + names.joined())
      return try await fixture.request("POST", Self.path, ["X-Forwarded-For": address], body: body).status
    }
    #expect(try await notify(["a", "b", "c"], from: "203.0.113.60") == 200)
    #expect(try await notify(["d", "e", "f"], from: "203.0.113.60") == 429)
    #expect(try await notify(["d", "e"], from: "203.0.113.60") == 200)
    #expect(try await notify(["f"], from: "203.0.113.60") == 429)
    #expect(try await jobs(fixture, "weights").count == 5)
    #expect(try await fixture.run("GET", "martlet:{limit}:notification:address:203.0.113.60").string == "5")
    // To be refused whenever it is sent again would stop a homeserver.
    #expect(try await notify(["1", "2", "3", "4", "5", "6"], from: "203.0.113.61") == 200)
    #expect(try await notify(["7"], from: "203.0.113.61") == 429)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `a request makes one job for a pushkey, in whichever form and under whichever app ids it is named`()
    async throws
  {
    let fixture = try await fixture("one")
    let token = token("one")
    let names = (0..<20).map { device($0 % 2 == 0 ? token : token.uppercased(), app: "im.app.\($0)") }
    #expect(try await notify(fixture, body(names)).body == #"{"rejected":[]}"#)
    #expect(try await jobs(fixture, "one").map(\.addressee) == [.token(DeviceToken(token))])
    #expect(try await fixture.run("GET", "martlet:{limit}:notification:device:token:" + token).string == "1")
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `a large notification is shortened, not refused`() async throws {
    let fixture = try await fixture("large")
    // An event has up to 65,536 bytes, and so has each event that its names come from.
    let long = String(repeating: "R", count: 65_400)
    let members =
      #""room_name":"\#(long)","sender_display_name":"\#(long)","content":{"body":"\#(long)","x":"\#(long)"}"#
    let large =
      #"{"notification":{"event_id":"$l","type":"m.room.message",\#(members),"devices":[\#(device(token("large")))]}}"#
    let answer = try await notify(fixture, large)
    #expect(answer.status == 200, "\(answer.body)")
    #expect(try await jobs(fixture, "large").count == 1)
    let fields = String(body([device(token("large"))], event: "$m").dropFirst().dropLast())
    let answers = try await WebAnswer.ask(
      port: fixture.sidecar.port, "POST", Self.path, fields: [], bytes: padded(fields, to: 1 << 20))
    #expect(answers.status == 200)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `what a homeserver or a member of a room puts into a notification never stops it`() async throws {
    let fixture = try await fixture("odd")
    let good = device(token("odd"))
    let deep = String(repeating: #"{"a":["#, count: 200) + "1" + String(repeating: "]}", count: 200)
    let events = [
      #""content":{"body":"x","y":\#(deep)}"#, #""content":\#(deep)"#, #""content":{"body":\#(deep)},"later":[1]"#,
      #""content":{"body":"]}\"","y":\#(deep)}"#, #""content":{"n":1\#(String(repeating: "0", count: 400))}"#,
    ]
    for (number, members) in events.enumerated() {
      let answer = try await notify(
        fixture,
        #"{"notification":{"event_id":"$\#(number)","type":"m.room.message",\#(members),"devices":[\#(good)]}}"#)
      #expect(answer.body == #"{"rejected":[]}"#, "\(members.prefix(60))")
    }
    #expect(try await jobs(fixture, "odd").count == events.count)
    let devices = [
      good, #"{"app_id":7,"pushkey":"no-app"}"#, #"{"pushkey":"none"}"#, #"{"app_id":"im.app.ios"}"#, "7",
      #"{"app_id":"im.app.ios","pushkey":"\#(token("deep"))","data":{"default_payload":{"d":\#(deep)}}}"#,
    ]
    let answer = try await notify(fixture, body(devices, event: "$devices"))
    #expect(answer.status == 200)
    #expect(answer.json?["rejected"] == .array([.string("no-app"), .string("none")]))
    #expect(try await jobs(fixture, "odd").count == events.count + 2)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `faults have the form of the specification`() async throws {
    let fixture = try await fixture("faults")
    for (what, bytes) in hostileBodies(String(body([device(token("h"))]).dropFirst().dropLast()))
    where what != "nested too deep" {
      let answer = try await WebAnswer.ask(port: fixture.sidecar.port, "POST", Self.path, fields: [], bytes: bytes)
      #expect(answer.status == 400, "\(what)")
      #expect(answer.json?["errcode"]?.string == "M_NOT_JSON", "\(what): \(answer.body)")
    }
    isError(try await notify(fixture, "{}"), 400, "M_BAD_JSON")
    isError(try await fixture.request("GET", Self.path), 405, "M_UNRECOGNIZED")
    isError(try await fixture.request("POST", "/_matrix/push/v2/notify", body: "{}"), 404, "M_UNRECOGNIZED")
    let large = padded(String(body([device(token("h"))]).dropFirst().dropLast()), to: 1 << 20 + 1)
    let answer = try await WebAnswer.ask(port: fixture.sidecar.port, "POST", Self.path, fields: [], bytes: large)
    isError(answer, 413, "M_TOO_LARGE")
    #expect(try await jobs(fixture, "faults").isEmpty)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `without Redis the homeserver is told to try again`() async throws {
    let server = try await RedisServer()
    let fixture = try await fixture("outage", server: server)
    #expect(try await notify(fixture, body([device(token("outage"))])).status == 200)
    try await server.stop()
    isError(try await notify(fixture, body([device(token("outage"))], event: "$f")), 503, "M_UNKNOWN")
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `without a file of apps there is no gateway`() async throws {
    let fixture = try await SidecarFixture()
    #expect(try await notify(fixture, body([device(token("off"))])).status == 404)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `other apps count from the next request on`() async throws {
    let directory = try TemporaryDirectory()
    let file = MatrixFile(path: "\(directory.path)/matrix.json")
    let fixture = try await fixture("reload") {
      $0.apis = [{ MatrixAPI($0, file, MatrixApps(["im.app.*": .init(bundleID: "im.app", environment: .sandbox)])) }]
    }
    try Data(#"{"apps":{"org.other":{"bundleId":"org.other"}}}"#.utf8).write(to: URL(filePath: file.path))
    for reload in fixture.sidecar.reloads { reload() }
    let (first, second) = (device(token("reload-1")), device(token("reload-2"), app: "org.other"))
    #expect(try await notify(fixture, body([first, second])).body == #"{"rejected":["\#(token("reload-1"))"]}"#)
    #expect(try await jobs(fixture, "reload").map(\.app) == ["org.other"])
    #expect(try await jobs(fixture, "reload")[0].pusher?.environment == nil)
    await fixture.sidecar.stop(grace: .seconds(1))
  }
}

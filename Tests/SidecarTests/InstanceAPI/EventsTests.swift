import EventLoop
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

/// `GET /events/since` on a real stream.
@EventLoop
struct EventsTests {
  private nonisolated static let path = "/events/since"

  private func add(_ fixture: SidecarFixture, _ instance: String, _ record: String) async throws {
    _ = try await fixture.run("XADD", "push:instance:\(instance):notifications", "*", "notification", record)
  }

  private func record(_ id: Int) -> String {
    #"{"id":"\#(id)","at":\#(id),"status":"unsent","payload":{"aps":{"alert":{"title":"Nyra"}}}}"#
  }

  private func instance(_ fixture: SidecarFixture, _ name: String) async throws -> [String: String] {
    try await fixture.allow(.instance, name, secret: name + "-device-key")
    return ["X-Nyra-Device-Key": name + "-device-key", "X-Nyra-Instance-Id": name]
  }

  private func ids(_ answer: WebAnswer) -> [String] {
    answer.json?["events"]?.array?.compactMap { $0["id"]?.string } ?? []
  }

  @Test func `an instance reads each of its records once, in pages, oldest first`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await instance(fixture, "events-home")
    for id in 1...7 { try await add(fixture, "events-home", record(id)) }
    try await add(fixture, "events-barn", record(99))
    var (cursor, seen, pages): (String, [String], [Bool]) = ("", [], [])
    repeat {
      let answer = try await fixture.request("GET", "\(Self.path)?limit=3&cursor=\(cursor)", headers)
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/json")
      #expect(answer.keys == ["events", "cursor", "hasMore"])
      seen += ids(answer)
      cursor = try #require(answer.json?["cursor"]?.string)
      #expect(answer.json?["events"]?.array?.last?["cursor"]?.string == cursor)
      pages.append(answer.json?["hasMore"]?.bool ?? false)
    } while pages.last == true
    #expect(seen == (1...7).map(String.init))
    #expect(pages == [true, true, false])
    let nothing = try await fixture.request("GET", "\(Self.path)?cursor=\(cursor)", headers)
    #expect(nothing.body == #"{"events":[],"cursor":"\#(cursor)","hasMore":false}"#)
    let all = try await fixture.request("GET", Self.path, headers)
    let first = try #require(all.json?["events"]?.array?.first)
    #expect(first["payload"]?["aps"]?["alert"]?["title"]?.string == "Nyra")
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test(arguments: [
    ("?cursor=MS0x-", "invalid_cursor"), ("?cursor=0-0", "invalid_cursor"),
    ("?cursor=MS0w&cursor=MS0w", "invalid_cursor"),
    ("?limit=0", "invalid_limit"), ("?limit=201", "invalid_limit"), ("?limit=ten", "invalid_limit"),
    ("?limit=", "invalid_limit"),
  ])
  func `an invalid query is refused with a code`(query: String, code: String) async throws {
    let fixture = try await SidecarFixture()
    let name = "events-wrong"
    _ = try await fixture.backend.credentials.revoke(.instance, name)
    let answer = try await fixture.request("GET", Self.path + query, try await instance(fixture, name))
    #expect((answer.status, answer.body) == (400, #"{"error":"\#(code)"}"#))
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `other callers read nothing`() async throws {
    let fixture = try await SidecarFixture()
    let (mine, theirs) = (try await instance(fixture, "events-mine"), try await instance(fixture, "events-theirs"))
    try await add(fixture, "events-theirs", record(1))
    func refused(_ headers: [String: String], _ status: Int, _ code: String) async throws {
      let answer = try await fixture.request("GET", Self.path, headers)
      #expect((answer.status, answer.body) == (status, #"{"error":"\#(code)"}"#))
    }
    try await refused([:], 401, "unauthorized")
    try await refused(["X-Nyra-Instance-Id": "events-mine"], 401, "unauthorized")
    try await refused(mine.merging(["X-Nyra-Device-Key": "wrong"]) { _, new in new }, 401, "unauthorized")
    try await refused(
      mine.merging(["X-Nyra-Instance-Id": "events-theirs"]) { _, new in new }, 403, "instance_mismatch_or_disabled")
    _ = try await fixture.backend.credentials.setEnabled(false, .instance, "events-theirs")
    try await refused(theirs, 403, "instance_mismatch_or_disabled")
    // The credentials of a user are not those of an instance.
    let user = try await fixture.user("events-mine")
    #expect(try await fixture.request("GET", Self.path, user).status == 401)
    await fixture.sidecar.stop(grace: .seconds(1))
  }

  @Test func `another method, a malformed target and a fault of Redis are answered with codes`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await instance(fixture, "events-broken")
    for method in ["POST", "HEAD", "DELETE"] {
      let answer = try await fixture.request(method, Self.path, headers)
      #expect(answer.status == 405)
      #expect(answer.headers["allow"] == "GET")
      if method != "HEAD" { #expect(answer.body == #"{"error":"method_not_allowed"}"#) }
    }
    #expect(try await fixture.request("GET", Self.path + "?%", headers).body == #"{"error":"invalid_request"}"#)
    _ = try await fixture.run("SET", "push:instance:events-broken:notifications", "no stream")
    let answer = try await fixture.request("GET", Self.path, headers)
    #expect((answer.status, answer.body) == (500, #"{"error":"server_error"}"#))
    await fixture.sidecar.stop(grace: .seconds(1))
    let bare = Sidecar(
      SidecarConfiguration(listener: HTTPServerConfiguration(address: .loopback(port: 0))), backend: nil, sender: nil,
      metrics: Metrics(), log: .silent)
    try bare.start()
    let missing = try await WebAnswer.ask(port: bare.port, "GET", Self.path)
    #expect((missing.status, missing.body) == (500, #"{"error":"server_error"}"#))
    await bare.stop(grace: .seconds(1))
  }
}

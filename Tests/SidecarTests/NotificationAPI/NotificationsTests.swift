import PushModel
import EventLoop
import Jobs
import JSON
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import Queue

/// `GET /notifications` on a real stream.
@EventLoop
struct NotificationsTests {
  private func add(_ fixture: SidecarFixture, _ user: String, _ record: String) async throws {
    _ = try await fixture.run("XADD", QueueKeys.notifications(Username(user)), "*", "notification", record)
  }

  private func record(_ id: Int) -> String {
    #"{"id":"\#(id)","at":\#(id),"status":"unsent","payload":{"aps":{"alert":{"title":"Hello"}}}}"#
  }

  private func ids(_ answer: WebAnswer) -> [String] {
    answer.json?["notifications"]?.array?.compactMap { $0["id"]?.string } ?? []
  }

  private func poll(
    _ fixture: SidecarFixture, _ headers: [String: String], _ query: String = ""
  ) async throws -> WebAnswer {
    try await fixture.request("GET", "/notifications" + query, headers)
  }

  @Test func `each record is returned once, in pages, oldest first`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await fixture.user("poll-pages")
    for id in 1...7 { try await add(fixture, "poll-pages", record(id)) }
    var (cursor, seen, pages): (String, [String], [Bool]) = ("", [], [])
    repeat {
      let answer = try await poll(fixture, headers, "?limit=3&since=\(cursor)")
      #expect(answer.status == 200)
      #expect(answer.keys == ["notifications", "cursor", "hasMore"])
      seen += ids(answer)
      cursor = try #require(answer.json?["cursor"]?.string)
      #expect(answer.json?["notifications"]?.array?.last?["cursor"]?.string == cursor)
      pages.append(answer.json?["hasMore"]?.bool ?? false)
    } while pages.last == true
    #expect(seen == (1...7).map(String.init))
    #expect(pages == [true, true, false])
    let nothing = try await poll(fixture, headers, "?since=\(cursor)")
    #expect(nothing.body == #"{"notifications":[],"cursor":"\#(cursor)","hasMore":false}"#)
    try await add(fixture, "poll-pages", record(8))
    #expect(ids(try await poll(fixture, headers, "?since=\(cursor)")) == ["8"])
  }

  @Test func `a record is returned as the worker wrote it, with its cursor`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await fixture.user("poll-record")
    try await add(fixture, "poll-record", record(1))
    let answer = try await poll(fixture, headers)
    let cursor = try #require(answer.json?["cursor"]?.string)
    let expected = String(record(1).dropLast()) + #","cursor":"\#(cursor)"}"#
    #expect(answer.body == #"{"notifications":[\#(expected)],"cursor":"\#(cursor)","hasMore":false}"#)
  }

  @Test func `a user without records gets a cursor`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await fixture.user("poll-empty")
    let cursor = try #require(try await poll(fixture, headers).json?["cursor"]?.string)
    try await add(fixture, "poll-empty", record(1))
    #expect(ids(try await poll(fixture, headers, "?since=\(cursor)")) == ["1"])
    // Records of other users are not returned.
    #expect(ids(try await poll(fixture, try await fixture.user("poll-other"))) == [])
  }

  @Test func `entries that are not records are skipped`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await fixture.user("poll-garbage")
    let key = QueueKeys.notifications("poll-garbage")
    for garbage in ["", "{", "[1]", "null", "\u{0}", #"{"id":"x","id":"y"}"#] {
      try await add(fixture, "poll-garbage", garbage)
    }
    _ = try await fixture.run("XADD", key, "*", "other", record(1))
    try await add(fixture, "poll-garbage", #"{"id":"2","cursor":"forged"}"#)
    _ = try await fixture.run("XADD", key, "*", "other", "x", "notification", record(3))
    let answer = try await poll(fixture, headers)
    #expect(ids(answer) == ["2", "3"])
    #expect(answer.json?["notifications"]?.array?.first?["cursor"]?.string != "forged")
    let page = try await poll(fixture, headers, "?limit=2")
    #expect(ids(page) == [])
    #expect(page.json?["hasMore"]?.bool == true)
    #expect(page.json?["cursor"]?.string != answer.json?["cursor"]?.string)
  }

  @Test func `a page is bounded in bytes, and a larger record is a page of its own`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await fixture.user("poll-large")
    func large(_ id: Int, _ bytes: Int) -> String {
      #"{"id":"\#(id)","text":"\#(String(repeating: "x", count: bytes))"}"#
    }
    for id in 1...9 { try await add(fixture, "poll-large", large(id, 60_000)) }
    try await add(fixture, "poll-large", large(10, 300_000))
    try await add(fixture, "poll-large", large(11, 300_000))
    for id in 12...40 { try await add(fixture, "poll-large", record(id)) }
    var (cursor, pages, hasMore): (String, [[String]], Bool) = ("", [], true)
    while hasMore {
      let answer = try await poll(fixture, headers, "?limit=200&since=\(cursor)")
      #expect(answer.status == 200)
      pages.append(ids(answer))
      cursor = try #require(answer.json?["cursor"]?.string)
      hasMore = answer.json?["hasMore"]?.bool ?? false
    }
    #expect(pages == [["1", "2", "3", "4"], ["5", "6", "7", "8"], ["9"], ["10"], ["11"], (12...40).map(String.init)])
  }

  @Test func `a cursor older than the stream continues with the oldest record`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await fixture.user("poll-trimmed")
    try await add(fixture, "poll-trimmed", record(1))
    let cursor = try #require(try await poll(fixture, headers).json?["cursor"]?.string)
    for id in 2...4 { try await add(fixture, "poll-trimmed", record(id)) }
    _ = try await fixture.run("XTRIM", QueueKeys.notifications("poll-trimmed"), "MAXLEN", "=", "1")
    #expect(ids(try await poll(fixture, headers, "?since=\(cursor)")) == ["4"])
  }

  @Test(arguments: [
    ("?since=MS0x-", "Invalid cursor"), ("?since=0-0", "Invalid cursor"), ("?since=%00", "Invalid cursor"),
    ("?limit=0", "Limit must be an integer between 1 and 200"),
    ("?limit=201", "Limit must be an integer between 1 and 200"),
    ("?limit=ten", "Limit must be an integer between 1 and 200"),
  ])
  func `an invalid query is refused`(query: String, text: String) async throws {
    let fixture = try await SidecarFixture()
    let answer = try await poll(fixture, try await fixture.user("poll-wrong"), query)
    #expect((answer.status, answer.error) == (400, text))
  }

  @Test func `a key that is not a stream is 500`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await fixture.user("poll-broken")
    _ = try await fixture.run("SET", QueueKeys.notifications("poll-broken"), "no stream")
    let answer = try await poll(fixture, headers)
    #expect((answer.status, answer.body) == (500, #"{"error":"Internal server error"}"#))
  }

  @Test func `access is that of the push API`() async throws {
    let fixture = try await SidecarFixture()
    let headers = try await fixture.user("poll-gate")
    let origin = ["Origin": "http://localhost:3000"]
    let good = try await poll(fixture, headers.merging(origin) { a, _ in a })
    #expect(good.headers["access-control-allow-origin"] == origin["Origin"])
    #expect(good.headers["access-control-allow-methods"] == "GET, OPTIONS")
    #expect(good.headers["vary"] == "Origin")
    #expect(try await poll(fixture, ["Origin": "https://evil.example"]).error == "Unauthorized")
    #expect(try await poll(fixture, origin).error == "Unauthorized - missing credentials")
    let wrong = headers.merging(["Authorization": "Bearer wrong"]) { _, new in new }
    #expect(try await poll(fixture, wrong).error == "Unauthorized - invalid token")
    for method in ["POST", "HEAD", "DELETE"] {
      let answer = try await fixture.request(method, "/notifications", headers.merging(origin) { a, _ in a })
      #expect(answer.status == 405)
      #expect(answer.headers["allow"] == "GET, OPTIONS")
    }
    let preflight = origin.merging(["Access-Control-Request-Method": "GET"]) { a, _ in a }
    #expect(try await fixture.request("OPTIONS", "/notifications", preflight).status == 204)
    let post = origin.merging(["Access-Control-Request-Method": "POST"]) { a, _ in a }
    #expect(try await fixture.request("OPTIONS", "/notifications", post).status == 405)
  }
}

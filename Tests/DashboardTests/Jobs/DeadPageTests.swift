import DashboardSupport
import EventLoop
import Foundation
import Operations
import Redis
import Testing
import TestSupport

@testable import Credentials
@testable import Dashboard
@testable import Queue

/// The page of dead letters and its actions, over HTTP on a real Redis.
@EventLoop
struct DeadPageTests {
  private let now = Clock.unixMilliseconds

  @Test func `the page lists letters with their reasons, and says so when there are none`() async throws {
    let fixture = try await JobsFixture()
    let empty = try await fixture.dashboard.get("/dead")
    #expect(empty.heading == "Dead letters")
    #expect(empty.body.contains("No dead letters"))
    try await fixture.bury("job-1", reason: "BadDeviceToken", at: now - 5000)
    let page = try await fixture.dashboard.get("/dead")
    #expect(page.status == 200)
    #expect(page.body.contains("job-1") && page.body.contains("BadDeviceToken"))
    #expect(page.body.contains("alice"))
    #expect(!page.body.contains("secret text"))
    await fixture.stop()
  }

  @Test func `a filter is kept in the links, and a page that shows some links to the next`() async throws {
    let fixture = try await JobsFixture()
    for number in 0..<60 {
      try await fixture.bury(
        "job-\(number)", reason: number % 2 == 0 ? "even" : "odd", at: now - 100_000 + Int64(number))
    }
    let page = try await fixture.dashboard.get("/dead?reason=even")
    #expect(fixture.boxes(page).count == 25)
    #expect(!page.body.contains(">odd</td>"))
    let next = try #require(page.attribute("href", ofElementWith: "Next part</a>").map { $0 })
    #expect(next.contains("reason=even"))
    let link = DashboardFixture.resolve(next.replacing("&amp;", with: "&"), from: "/dead")
    let rest = try await fixture.dashboard.get(link)
    #expect(fixture.boxes(rest).count == 5)
    #expect(!rest.body.contains("Next part"))
    await fixture.stop()
  }

  @Test(arguments: [
    "/dead?cursor=x", "/dead?cursor=1,2", "/dead?cursor=*~nan,0", "/dead?cursor=*~*~*", "/dead?age=never",
    "/dead?confirm=send", "/dead?cursor=1700000000000,99999999999~*",
  ])
  func `a forged address is refused`(path: String) async throws {
    let fixture = try await JobsFixture()
    #expect(try await fixture.dashboard.get(path).status == 400)
    await fixture.stop()
  }

  @Test func `a queue that the fleet does not serve is not read`() async throws {
    let fixture = try await JobsFixture()
    for path in [
      "/dead?queue=other", "/scheduled?queue=other", "/queues/other", "/queues/%2e%2e", "/queues/martlet%3Ax",
    ] {
      #expect(try await fixture.dashboard.get(path).status == 404, "\(path)")
    }
    await fixture.stop()
  }

  @Test func `selected letters are requeued once, and the second time they have moved on`() async throws {
    let fixture = try await JobsFixture()
    for number in 0..<4 { try await fixture.bury("job-\(number)", at: now - 1000 + Int64(number)) }
    let boxes = fixture.boxes(try await fixture.dashboard.get("/dead"))
    let form = [("action", "requeue"), ("letter", boxes[0]), ("letter", boxes[1])]
    let done = try await fixture.dashboard.act("/dead", form)
    #expect(done.body.contains("Requeued 2 dead letters."))
    #expect(try await fixture.length("ZCARD", fixture.keys.dead) == 2)
    #expect(try await fixture.length("LLEN", fixture.keys.queue) == 2)
    let again = try await fixture.dashboard.post("/dead", form)
    #expect(again.status == 409)
    #expect(again.body.contains("moved on"))
    #expect(try await fixture.length("LLEN", fixture.keys.queue) == 2)
    let mixed = try await fixture.dashboard.act("/dead", form + [("letter", boxes[2])])
    #expect(mixed.body.contains("Requeued 1 dead letter. 2 had moved on before."))
    let audit = try await fixture.audit()
    #expect(audit.contains("requeue dead letters job-3, job-2 done"))
    #expect(audit.contains("requeue dead letters job-3, job-2 refused: Has moved on"))
    #expect(audit.contains("requeue dead letters job-3, job-2, job-1 done"))
    await fixture.stop()
  }

  @Test func `a form that names no letter changes nothing`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.bury("job-1", at: now)
    let box = try #require(fixture.boxes(try await fixture.dashboard.get("/dead")).first)
    for letter in [
      "", "x", "1,2,3,4,5", box.replacing("push:jobs", with: "other"), box.replacing(",job-1,", with: ",other,"),
    ] {
      let answer = try await fixture.dashboard.act("/dead", [("action", "purge"), ("letter", letter)])
      #expect([400, 409, 200].contains(answer.status))
      #expect(try await fixture.length("ZCARD", fixture.keys.dead) == 1, "\(letter)")
    }
    #expect(try await fixture.dashboard.act("/dead", [("action", "purge")]).body.contains("No letter was selected"))
    await fixture.stop()
  }

  @Test func `all that match are shown by reason before they are requeued`() async throws {
    let fixture = try await JobsFixture()
    for number in 0..<300 {
      try await fixture.bury("job-\(number)", reason: number < 200 ? "a" : "b", at: now - 100_000 + Int64(number))
    }
    let preview = try await fixture.dashboard.get("/dead?reason=a&confirm=requeue")
    #expect(preview.body.contains("Requeue 200 letters"))
    #expect(preview.body.contains("id=\"confirm\""))
    #expect(try await fixture.length("ZCARD", fixture.keys.dead) == 300)
    let until = try #require(preview.attribute("value", ofElementWith: "name=\"until\""))
    let done = try await fixture.dashboard.act(
      "/dead?reason=a&confirm=requeue", [("action", "requeue-all"), ("until", until), ("since", "1700000000000")])
    let time = TimeText.exact(try #require(Int64(until)))
    #expect(
      try await fixture.audit().contains(
        "requeue-all dead letters of all queues: reason contains “a”, given up since 2023-11-14 22:13:20 UTC, "
          + "given up until \(time) done"))
    #expect(done.body.contains("Requeued 200 dead letters."))
    #expect(try await fixture.length("ZCARD", fixture.keys.dead) == 100)
    #expect(try await fixture.length("LLEN", fixture.keys.queue) == 200)
    await fixture.stop()
  }

  @Test func `what dies after the preview stays`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.bury("old", at: now - 1000)
    let preview = try await fixture.dashboard.get("/dead?confirm=purge")
    let until = try #require(preview.attribute("value", ofElementWith: "name=\"until\""))
    try await fixture.bury("new", at: now + 86_400_000)
    _ = try await fixture.dashboard.act("/dead?confirm=purge", [("action", "purge-all"), ("until", until)])
    #expect(try await fixture.length("ZCARD", fixture.keys.dead) == 1)
    #expect(fixture.boxes(try await fixture.dashboard.get("/dead")).first?.contains("new") == true)
    #expect(try await fixture.dashboard.post("/dead", [("action", "purge-all")]).status == 400)
    await fixture.stop()
  }

  @Test func `a viewer sees letters and may not act; an operator may not purge`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.bury("job-1", at: now)
    try await fixture.dashboard.add(.viewer, "vera", secret: "vera secret 1")
    try await fixture.dashboard.add(.operator, "olga", secret: "olga secret 1")
    let (vera, olga) = ("vera:vera secret 1", "olga:olga secret 1")
    let page = try await fixture.dashboard.get("/dead", as: vera)
    #expect(page.status == 200)
    #expect(fixture.boxes(page).isEmpty && !page.body.contains("name=\"action\""))
    let seen = try await fixture.dashboard.get("/dead", as: olga)
    let box = try #require(fixture.boxes(seen).first)
    #expect(!seen.body.contains("value=\"purge\""))
    for (user, action) in [(vera, "requeue"), (vera, "purge"), (olga, "purge"), (olga, "purge-all")] {
      let form = [("action", action), ("letter", box), ("until", String(now))]
      #expect(try await fixture.dashboard.post("/dead", form, as: user).status == 403, "\(user) \(action)")
    }
    #expect(try await fixture.length("ZCARD", fixture.keys.dead) == 1)
    #expect(
      try await fixture.dashboard.post("/dead", [("action", "requeue"), ("letter", box)], as: olga).status == 303)
    await fixture.stop()
  }

  @Test func `hostile letters are shown safely`() async throws {
    let fixture = try await JobsFixture()
    let markup = "<script>alert(1)</script>"
    try await fixture.bury("<b>&\"'", reason: markup, at: now, job: fixture.bytes(#"{"to":{"user":"<i>x"}}"#))
    try await fixture.bury("nul", reason: "larger", at: now - 1, job: [UInt8](repeating: 0, count: 65536))
    try await fixture.bury("bytes", reason: "not UTF-8", at: now - 2, job: [0xFF, 0xFE, 0x0A, 0x3C, 0x62, 0x3E])
    try await fixture.run(
      "ZADD", [fixture.bytes(fixture.keys.dead), fixture.bytes("5"), fixture.bytes("<b>no letter</b>")])
    for path in ["/dead", "/queues/push:jobs", "/dead?confirm=purge", "/dead?reason=%3Cscript%3E"] {
      let page = try await fixture.dashboard.get(path)
      #expect(page.status == 200)
      #expect(
        !page.body.contains("<script>alert") && !page.body.contains("<b>") && !page.body.contains("<i>x"), "\(path)")
      #expect(!page.body.contains("\u{0}"))
    }
    #expect(try await fixture.dashboard.get("/dead").body.contains("&lt;script&gt;alert(1)"))
    #expect(try await fixture.dashboard.get("/dead").body.contains("another program"))
    await fixture.stop()
  }

  @Test(.enabled(if: !RedisServer.isCluster))
  func `letters are purged when Redis is full, and the audit log says so`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.bury("job-1", at: now)
    let box = try #require(fixture.boxes(try await fixture.dashboard.get("/dead")).first)
    _ = try await fixture.dashboard.run("CONFIG", "SET", "maxmemory", "1")
    let form = [("form", "a"), ("action", "purge"), ("letter", box)]
    let done = try await fixture.dashboard.post("/dead", form)
    #expect(done.body.contains("Purged 1 dead letter."))
    #expect(try await fixture.length("ZCARD", fixture.keys.dead) == 0)
    #expect(try await fixture.audit() == ["purge dead letter job-1 done"])
    #expect(try await fixture.dashboard.post("/dead", form).body.contains("already sent"))
    await fixture.stop()
  }

  /// Of a cluster, the fixture cannot end the servers.
  @Test(.enabled(if: !RedisServer.isCluster))
  func `without Redis the page is a plain 503, and an action changes nothing`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.dashboard.server.kill()
    for path in ["/dead", "/queues", "/queues/push:jobs", "/jobs/x", "/scheduled", "/broadcasts", "/search?q=x"] {
      let page = try await fixture.dashboard.get(path)
      #expect(page.status == 503, "\(path)")
      #expect(page.body.contains("Redis does not answer"))
    }
    #expect(try await fixture.dashboard.post("/jobs/x", [("action", "cancel")]).status == 503)
    await fixture.stop()
  }
}

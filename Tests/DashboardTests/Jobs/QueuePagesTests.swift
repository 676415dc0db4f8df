import DashboardSupport
import EventLoop
import Foundation
import Redis
import Testing
import TestSupport

@testable import Credentials
@testable import Dashboard
@testable import Operations
@testable import Queue

/// The pages of queues, of jobs that wait for their time, of broadcasts, and the search, over HTTP on a real Redis.
@EventLoop
struct QueuePagesTests {
  private let now = Clock.unixMilliseconds

  @Test func `the queues are listed with their numbers and the age of the oldest job`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.wait(#"{"id":"a","to":{"user":"alice"},"enqueuedAt":\#(now - 7_520_000),"title":"x"}"#)
    try await fixture.wait(#"{"id":"b","to":{"user":"alice"},"title":"x"}"#)
    let page = try await fixture.dashboard.get("/queues")
    #expect(page.heading == "Queues")
    #expect(page.body.contains("push:jobs:high") && page.body.contains("2 h 5 min"))
    await fixture.stop()
  }

  @Test func `every page shows the same age of a job that waited for its time before`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.wait(
      #"{"id":"a","to":{"user":"alice"},"enqueuedAt":\#(now - 7_520_000),"sendAt":\#(now - 3_920_000),"title":"x"}"#)
    for path in ["/", "/queues", "/queues/push:jobs"] {
      let page = try await fixture.dashboard.get(path)
      #expect(page.body.contains("1 h 5 min") && !page.body.contains("2 h 5 min"), "\(path)")
    }
    await fixture.stop()
  }

  @Test(arguments: [Int64.min, -1, 0, Int64.max])
  func `any time that a producer names is shown without harm`(time: Int64) async throws {
    let fixture = try await JobsFixture()
    try await fixture.wait(#"{"id":"a","to":{"user":"alice"},"enqueuedAt":\#(time),"title":"x"}"#)
    for path in ["/", "/queues", "/queues/push:jobs:high", "/jobs/a"] {
      #expect(try await fixture.dashboard.get(path).status == 200, "\(path)")
    }
    await fixture.stop()
  }

  @Test func `a queue is paused with a reason, and resumed`() async throws {
    let fixture = try await JobsFixture()
    let control = QueueControl(queue: "push:jobs", connection: fixture.dashboard.redis)
    let path = "/queues/push:jobs"
    let paused = try await fixture.dashboard.act(path, [("action", "pause"), ("reason", "<b>APNs is down")])
    #expect(paused.body.contains("Paused push:jobs."))
    #expect(paused.body.contains("&lt;b&gt;APNs is down"))
    #expect(try await control.currentPause()?.by == "local")
    #expect(try await fixture.dashboard.get("/queues").body.contains("paused"))
    #expect(try await fixture.dashboard.act(path, [("action", "pause")]).body.contains("was paused before"))
    let resumed = try await fixture.dashboard.act("/queues", [("action", "resume"), ("queue", "push:jobs")])
    #expect(resumed.body.contains("Resumed push:jobs."))
    #expect(try await control.currentPause() == nil)
    #expect(try await fixture.dashboard.act(path, [("action", "resume")]).body.contains("was not paused"))
    #expect(try await fixture.dashboard.post("/queues", [("action", "pause"), ("queue", "other")]).status == 404)
    #expect(try await fixture.audit().contains("pause queue push:jobs done"))
    await fixture.stop()
  }

  @Test func `a viewer may not pause`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.dashboard.add(.viewer, "vera", secret: "vera secret 1")
    for path in ["/queues", "/queues/push:jobs"] {
      let form = [("action", "pause"), ("queue", "push:jobs")]
      #expect(try await fixture.dashboard.post(path, form, as: "vera:vera secret 1").status == 403)
      #expect(!(try await fixture.dashboard.get(path, as: "vera:vera secret 1").body.contains("value=\"pause\"")))
    }
    #expect(try await QueueControl(queue: "push:jobs", connection: fixture.dashboard.redis).currentPause() == nil)
    await fixture.stop()
  }

  @Test func `both ends of a queue can be looked at`() async throws {
    let fixture = try await JobsFixture()
    for number in 1...60 { try await fixture.wait(#"{"id":"job-\#(number)","to":{"user":"u"},"title":"x"}"#) }
    let front = try await fixture.dashboard.get("/queues/push:jobs")
    #expect(front.body.contains(">job-1<") && !front.body.contains(">job-11<"))
    let second = try await fixture.dashboard.get("/queues/push:jobs?skip=10")
    #expect(second.body.contains(">job-11<") && !second.body.contains(">job-1<"))
    let back = try await fixture.dashboard.get("/queues/push:jobs?end=back")
    #expect(back.body.contains(">job-60<") && !back.body.contains(">job-1<"))
    for query in ["skip=-1", "skip=x", "skip=1000000", "end=middle"] {
      #expect(try await fixture.dashboard.get("/queues/push:jobs?\(query)").status == 400, "\(query)")
    }
    await fixture.stop()
  }

  @Test func `jobs that wait for their time are listed and run now`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.delay("second", in: .scheduled, due: now + 120_000)
    try await fixture.delay("first", in: .retry, due: now + 60_000)
    let page = try await fixture.dashboard.get("/scheduled")
    let first = try #require(page.body.range(of: ">first<"))
    let second = try #require(page.body.range(of: ">second<"))
    #expect(first.lowerBound < second.lowerBound)
    #expect(!(try await fixture.dashboard.get("/scheduled?state=retry").body.contains(">second<")))
    #expect(try await fixture.dashboard.get("/scheduled?state=x").status == 400)
    #expect(try await fixture.dashboard.get("/scheduled?cursor=x").status == 400)
    let form = [("action", "run-now"), ("job", "second")]
    #expect(try await fixture.dashboard.act("/scheduled", form).body.contains("at the front of its queue"))
    #expect(try await fixture.dashboard.post("/scheduled", form).status == 409)
    #expect(try await fixture.length("LLEN", fixture.keys.queue) == 1)
    await fixture.stop()
  }

  @Test func `without broadcasts the page says so, and an unknown one is 404`() async throws {
    let fixture = try await JobsFixture()
    #expect(try await fixture.dashboard.get("/broadcasts").body.contains("No broadcasts"))
    #expect(try await fixture.dashboard.get("/broadcasts/x").status == 404)
    for action in ["pause", "resume", "cancel"] {
      #expect(try await fixture.dashboard.post("/broadcasts/x", [("action", action)]).status == 404, "\(action)")
    }
    await fixture.stop()
  }

  @Test func `the search leads to what has the name`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.wait(#"{"id":"job-1","to":{"user":"alice"},"title":"x"}"#)
    try await fixture.run("SADD", [fixture.bytes("push:user:alice:tokens"), fixture.bytes("t")])
    #expect(try await fixture.dashboard.get("/search?q=job-1").headers["location"] == "./jobs/job-1")
    #expect(try await fixture.dashboard.get("/search?q=+Alice").headers["location"] == "./devices?user=alice")
    #expect(try await fixture.dashboard.get("/search?q=%3Cb%3E").status == 404)
    #expect(try await fixture.dashboard.get("/search").status == 200)
    try await fixture.wait(#"{"id":"alice","to":{"user":"alice"},"title":"x"}"#)
    #expect(try await fixture.dashboard.get("/search?q=alice").body.contains("Several things"))
    await fixture.stop()
  }

  @Test func `links and forms are relative, so pages work below any prefix`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.wait(#"{"id":"a","to":{"user":"alice"},"title":"x"}"#)
    try await fixture.delay("b", in: .retry, due: now + 1000)
    try await fixture.bury("c", at: now)
    for path in ["/queues", "/queues/push:jobs", "/jobs/c", "/dead", "/scheduled", "/broadcasts"] {
      let page = try await fixture.dashboard.get(path)
      for attribute in ["href=\"", "action=\"", "src=\""] {
        for value in page.body.components(separatedBy: attribute).dropFirst() where !value.hasPrefix("#") {
          #expect(value.hasPrefix("./") || value.hasPrefix("../"), "\(path) \(value.prefix(30))")
        }
      }
    }
    await fixture.stop()
  }
}

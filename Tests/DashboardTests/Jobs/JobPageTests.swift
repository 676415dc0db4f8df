import DashboardSupport
import EventLoop
import Redis
import Testing
import TestSupport

@testable import Credentials
@testable import Dashboard
@testable import Jobs
@testable import Queue

/// The page of a job and its actions, over HTTP on a real Redis.
@EventLoop
struct JobPageTests {
  private let now = Clock.unixMilliseconds
  private let token = String(repeating: "0123456789abcdef", count: 4)

  @Test func `an unknown job is 404 and says what that means`() async throws {
    let fixture = try await JobsFixture()
    let page = try await fixture.dashboard.get("/jobs/nobody")
    #expect(page.status == 404)
    #expect(page.heading == "Job nobody")
    #expect(page.body.contains("expired"))
    await fixture.stop()
  }

  @Test(arguments: [".", ".."]) func `a job whose id browsers would resolve in a path has a page`(id: String)
    async throws
  {
    let fixture = try await JobsFixture()
    try await fixture.wait(#"{"id":"\#(id)","to":{"user":"alice"},"title":"x"}"#)
    let queue = try await fixture.dashboard.get("/queues/push:jobs")
    #expect(queue.body.contains("href=\"../jobs/~\(id)\""))
    let page = try await fixture.dashboard.get("/jobs/~\(id)")
    #expect(page.heading == "Job \(id)")
    #expect(page.body.contains("action=\"./~\(id)") || page.body.contains("href=\"./~\(id)?confirm=cancel\""))
    await fixture.stop()
  }

  @Test func `each state of a job offers what can be done with it`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.wait(#"{"id":"waiting","to":{"user":"alice"},"title":"x"}"#)
    try await fixture.delay("again", in: .retry, due: now + 60_000)
    try await fixture.delay("later", in: .scheduled, due: now + 60_000)
    try await fixture.bury("dead", at: now - 1000)
    func offers(_ id: String) async throws -> [Bool] {
      let page = try await fixture.dashboard.get("/jobs/\(id)")
      #expect(page.status == 200, "\(id)")
      return ["Cancel…", ">Retry now<", ">Run now<", ">Requeue<", "Purge…"].map { page.body.contains($0) }
    }
    #expect(try await offers("waiting") == [true, false, false, false, false])
    #expect(try await offers("again") == [true, true, false, false, false])
    #expect(try await offers("later") == [true, false, true, false, false])
    #expect(try await offers("dead") == [false, false, false, true, true])
    await fixture.stop()
  }

  @Test func `a retried job runs now, once`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.delay("again", in: .retry, due: now + 600_000)
    let done = try await fixture.dashboard.act("/jobs/again", [("action", "run-now")])
    #expect(done.body.contains("again is at the front of its queue."))
    #expect(try await fixture.length("LLEN", fixture.keys.queue) == 1)
    let second = try await fixture.dashboard.post("/jobs/again", [("action", "run-now")])
    #expect(second.status == 409)
    #expect(second.body.contains("waiting in its queue"))
    #expect(try await fixture.length("LLEN", fixture.keys.queue) == 1)
    await fixture.stop()
  }

  @Test func `a scheduled job is cancelled and has a record`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.delay("later", in: .scheduled, due: now + 600_000)
    let asked = try await fixture.dashboard.get("/jobs/later?confirm=cancel")
    #expect(asked.body.contains("Cancel this job?"))
    let done = try await fixture.dashboard.act("/jobs/later?confirm=cancel", [("action", "cancel")])
    #expect(done.body.contains("Cancelled later: nothing more is sent."))
    #expect(!done.body.contains("Cancel this job?"))
    #expect(try await fixture.length("ZCARD", fixture.keys.scheduled) == 0)
    let again = try await fixture.dashboard.post("/jobs/later", [("action", "cancel")])
    #expect(again.status == 409)
    #expect(again.body.contains("it is now cancelled"))
    #expect(try await fixture.audit().contains("cancel job later done"))
    await fixture.stop()
  }

  @Test func `a job in flight is marked for its worker`() async throws {
    let fixture = try await JobsFixture()
    let job = #"{"id":"flying","to":{"user":"alice"},"title":"x"}"#
    let element = Envelope(nonce: "n", job: fixture.bytes(job)).element
    try await fixture.run("SADD", [fixture.bytes(fixture.keys.workers), fixture.bytes("w")])
    try await fixture.run("LPUSH", [fixture.bytes(fixture.keys.inflight("w")), element])
    let done = try await fixture.dashboard.act("/jobs/flying?confirm=cancel", [("action", "cancel")])
    #expect(done.body.contains("in flight at worker w. Its worker ends it"))
    #expect(done.body.contains("The id stays cancelled for 24 h"))
    #expect(try await fixture.length("ZCARD", fixture.keys.cancelled) == 1)
    await fixture.stop()
  }

  @Test func `a dead letter is requeued or purged once`() async throws {
    let fixture = try await JobsFixture()
    try await fixture.bury("one", at: now - 2000)
    try await fixture.bury("two", at: now - 1000)
    #expect(try await fixture.dashboard.act("/jobs/one", [("action", "requeue")]).body.contains("Requeued one."))
    #expect(try await fixture.dashboard.post("/jobs/one", [("action", "requeue")]).status == 409)
    #expect(try await fixture.dashboard.post("/jobs/one", [("action", "purge")]).status == 409)
    #expect(try await fixture.length("LLEN", fixture.keys.queue) == 1)
    #expect(try await fixture.dashboard.post("/jobs/two", [("action", "purge")]).status == 303)
    #expect(try await fixture.length("ZCARD", fixture.keys.dead) == 0)
    await fixture.stop()
  }

  @Test func `the payload is hidden until an operator asks for it, and the audit log says who did`() async throws {
    let fixture = try await JobsFixture()
    let job = #"{"id":"later","to":{"token":"\#(token)"},"title":"secret <b>text"}"#
    try await fixture.delay("later", in: .scheduled, due: now + 600_000, job: job)
    try await fixture.dashboard.add(.viewer, "vera", secret: "vera secret 1")
    try await fixture.dashboard.add(.operator, "olga", secret: "olga secret 1")
    try await fixture.dashboard.add(.admin, "ada", secret: "ada secret 12")
    for user in ["vera:vera secret 1", "olga:olga secret 1", "ada:ada secret 12"] {
      let page = try await fixture.dashboard.get("/jobs/later", as: user)
      #expect(page.status == 200)
      #expect(!page.body.contains("secret"), "\(user)")
    }
    #expect(
      try await fixture.dashboard.post("/jobs/later", [("action", "reveal")], as: "vera:vera secret 1").status == 403)
    let answer = try await fixture.dashboard.post("/jobs/later", [("action", "reveal")], as: "olga:olga secret 1")
    let location = DashboardFixture.resolve(try #require(answer.headers["location"]), from: "/jobs/later")
    let shown = try await fixture.dashboard.get(location, as: "olga:olga secret 1")
    #expect(shown.body.contains("secret &lt;b&gt;text"))
    #expect(!shown.body.contains(token))
    // The address is of no use to anybody else, nor for another job.
    #expect(!(try await fixture.dashboard.get(location, as: "vera:vera secret 1").body.contains("secret &lt;")))
    #expect(!(try await fixture.dashboard.get(location, as: "ada:ada secret 12").body.contains("secret &lt;")))
    try await fixture.delay("other", in: .scheduled, due: now + 600_000, job: job)
    let other = location.replacing("/jobs/later", with: "/jobs/other")
    #expect(!(try await fixture.dashboard.get(other, as: "olga:olga secret 1").body.contains("secret &lt;")))
    let admin = try await fixture.dashboard.act("/jobs/later", [("action", "reveal")], as: "ada:ada secret 12")
    #expect(admin.body.contains(token))
    #expect(try await fixture.audit().contains("reveal job later done"))
    await fixture.stop()
  }

  @Test func `tokens of a record are shortened unless an admin asks`() async throws {
    let fixture = try await JobsFixture()
    let record = """
      {"id":"done","status":"partial","accepted":0,"failed":1,"stale":0,"uncertain":0,"reasons":{"Unregistered":1},\
      "results":[{"token":"\(token)","ok":false,"status":410,"apnsId":"a","reason":"Unregistered"}],"attempts":1,\
      "worker":"w","claimedAt":\(now - 100),"finishedAt":\(now)}
      """
    try await fixture.run("SET", [fixture.bytes("push:result:done"), fixture.bytes(record)])
    try await fixture.dashboard.add(.operator, "olga", secret: "olga secret 1")
    try await fixture.dashboard.add(.admin, "ada", secret: "ada secret 12")
    for path in ["/jobs/done", "/jobs/done?whole=yes"] {
      let page = try await fixture.dashboard.get(path, as: "olga:olga secret 1")
      #expect(page.body.contains("Unregistered") && page.body.contains("01234567"))
      #expect(!page.body.contains(token))
    }
    let admin = try await fixture.dashboard.get("/jobs/done?whole=yes", as: "ada:ada secret 12")
    #expect(admin.body.contains(">\(token)<"))
    await fixture.stop()
  }

  @Test func `an accepted push names the page to read and its apns-unique-id`() async throws {
    let fixture = try await JobsFixture()
    for (id, unique) in [("sandbox", #","uniqueId":"<u>""#), ("production", "")] {
      let record = """
        {"id":"\(id)","status":"accepted","accepted":1,"failed":0,"stale":0,"uncertain":0,"reasons":{},\
        "results":[{"token":"\(token)","ok":true,"status":200,"apnsId":"a"\(unique)}],"attempts":1,\
        "worker":"w","claimedAt":\(now - 100),"finishedAt":\(now)}
        """
      try await fixture.run("SET", [fixture.bytes("push:result:\(id)"), fixture.bytes(record)])
      let page = try await fixture.dashboard.get("/jobs/\(id)").body
      #expect(page.contains("docs/after-apns.md"))
      #expect(page.contains("apns-unique-id") == !unique.isEmpty)
      #expect(page.contains("&lt;u&gt;") == !unique.isEmpty)
    }
    await fixture.stop()
  }

  @Test(arguments: ["%3Cscript%3Ealert(1)%3C/script%3E", "%00%00", "%FF%FE", "a%22%20onclick=%22x", "%2e", "a%0D%0Ab"])
  func `a hostile id is a plain page`(id: String) async throws {
    let fixture = try await JobsFixture()
    let page = try await fixture.dashboard.get("/jobs/\(id)")
    #expect(page.status == 404)
    #expect(!page.body.contains("<script>alert") && !page.body.contains("onclick=\"x"))
    for action in ["cancel", "run-now", "requeue", "purge", "reveal"] {
      let answer = try await fixture.dashboard.post("/jobs/\(id)", [("action", action)])
      // A job may get this id later: it is cancelled then.
      let isMarked = action == "cancel" && id == "%2e"
      #expect(isMarked ? answer.status == 303 : [404, 409].contains(answer.status), "\(action) \(answer.status)")
    }
    await fixture.stop()
  }
}

import Credentials
import DashboardSupport
import EventLoop
import Jobs
import PushModel
import Redis
import Registry
import Testing
import TestSupport
@testable import LiveActivities

@testable import Dashboard

/// `/activities/{id}` over HTTP.
@EventLoop
struct ActivityPageTests {
  nonisolated private static let token = String(repeating: "b2", count: 32)

  private func register(_ activity: String, on fixture: DashboardFixture) async throws {
    let metadata = DeviceMetadata(
      username: "alice", platform: .ios, updatedAt: 1, bundleID: "com.a", environment: .sandbox, kind: .activity,
      deviceID: "phone-1", activity: activity)
    let json = String(decoding: metadata.json(), as: UTF8.self)
    _ = try await fixture.run("SET", RegistryKeys.token(entry: Self.token), json)
    _ = try await fixture.run("SADD", RegistryKeys.userTokens("alice"), Self.token)
    _ = try await fixture.run("HSET", RegistryKeys.activityTokens(activity), Self.token, json)
  }

  private func store(_ phase: ActivityState.Newest.Phase, of activity: String, on fixture: DashboardFixture)
    async throws
  {
    var state = ActivityState()
    state.all = .init(
      jobID: "goal-1", nonce: "n", queue: "push:jobs", isEnd: false, isShared: true,
      order: ActivityOrder(timestamp: 1, enqueuedAt: 1, sequence: ""), timestamp: 1, payload: [], priority: 10,
      expiresAt: nil, phase: phase, since: 1)
    state.starts = ["phone:1\nalice": "n"]
    _ = try await fixture.run("SET", Activities.key(activity), String(decoding: state.json(), as: UTF8.self))
  }

  @Test func `an activity is shown with its state and its tokens, which are shortened`() async throws {
    let fixture = try await DashboardFixture(queues: ["push:jobs"]) {
      $0.pages = [{ ActivityPage(context: $0) }]
    }
    try await fixture.add(.viewer, "vera", secret: "vera-has-a-secret")
    try await register("match", on: fixture)
    try await store(.settled, of: "match", on: fixture)
    let page = try await fixture.get("/activities/match?whole=yes", as: "vera:vera-has-a-secret")
    #expect(page.status == 200)
    #expect(page.heading == "Live Activity match")
    #expect(page.body.contains("The newest state of Live Activity match is that of job goal-1"))
    #expect(page.attribute("href", ofElementWith: "class=\"job-id\"") == "../jobs/goal-1")
    for text in ["alice", "com.a", "sandbox", "phone-1", "not yet", "Started on 1 device."] {
      #expect(page.body.contains(text), "\(text)")
    }
    #expect(page.body.contains("b2b2b2b2…") && !page.body.contains(Self.token))
    await fixture.stop()
  }

  @Test func `a state without a token waits, and the page says what to do`() async throws {
    let fixture = try await DashboardFixture(queues: ["push:jobs"]) {
      $0.pages = [{ ActivityPage(context: $0) }]
    }
    try await store(.waiting, of: "waits", on: fixture)
    let page = try await fixture.get("/activities/waits")
    #expect(page.status == 200)
    #expect(page.body.contains("so the state of job goal-1 waits"))
    #expect(page.body.contains("Let the app register its update token"))
    #expect(page.body.contains("No update token is registered"))
    await fixture.stop()
  }

  @Test(arguments: ["/activities/nobody", "/activities/x:tokens", "/activities/a%2Fb", "/activities/%3Cb%3E"])
  func `an activity of which nothing is known is 404, also under a name that none can have`(path: String) async throws {
    let fixture = try await DashboardFixture(queues: ["push:jobs"]) {
      $0.pages = [{ ActivityPage(context: $0) }]
    }
    let page = try await fixture.get(path)
    #expect(page.status == 404)
    #expect(page.body.contains("Nothing is known of Live Activity"))
    #expect(!page.body.contains("<b>"))
    await fixture.stop()
  }

  @Test func `what another program wrote under its keys is said`() async throws {
    let fixture = try await DashboardFixture(queues: ["push:jobs"]) {
      $0.pages = [{ ActivityPage(context: $0) }]
    }
    _ = try await fixture.run("SADD", Activities.key("odd"), "1")
    let page = try await fixture.get("/activities/odd")
    #expect(page.status == 409)
    #expect(page.body.contains("The key push:activity:odd has another type"))
    _ = try await fixture.run("SET", Activities.key("bad"), "no JSON")
    #expect(try await fixture.get("/activities/bad").status == 404)
    await fixture.stop()
  }

  @Test func `jobs and devices lead to it, and a token of it takes no test push`() async throws {
    let fixture = try await DashboardFixture(queues: ["push:jobs"]) {
      $0.pages = [{ ActivityPage(context: $0) }]
    }
    try await register("match", on: fixture)
    let job = #"{"id":"goal-2","to":{"activity":"match"},"liveActivity":{"event":"end"}}"#
    _ = try await fixture.run("LPUSH", "push:jobs", job)
    let queue = try await fixture.get("/queues/push:jobs")
    #expect(queue.body.contains("href=\"../activities/match\""))
    let devices = try await fixture.get("/devices?user=alice")
    #expect(devices.body.contains("href=\"./activities/match\""))
    #expect(!devices.body.contains("Send a test push"))
    let form = [
      ("action", "test"), ("device", DeviceEntry.reference(to: DeviceToken(Self.token))),
      ("form", devices.attribute("value", ofElementWith: "name=\"form\"") ?? "f"),
    ]
    #expect(try await fixture.post("/devices?user=alice", form).status == 400)
    #expect(try await fixture.run("LLEN", "push:jobs").integer == 1)
    await fixture.stop()
  }
}

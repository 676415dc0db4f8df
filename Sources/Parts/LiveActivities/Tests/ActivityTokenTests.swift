import EventLoop
import Jobs
import JSON
import Redis
import Registry
import Sidecar
import SidecarSupport
import Testing
import TestSupport
@testable import LiveActivities
@testable import Credentials
@testable import PushModel

/// The tokens of Live Activities over HTTP: docs/live-activities.md.
@EventLoop
struct ActivityTokenTests {
  private func fixture() async throws -> SidecarFixture {
    try await SidecarFixture {
      $0.bundleID = "com.push.app"
      $0.apis = [{ ActivityAPI($0) }]
    }
  }

  @Test func `an update token is a device of the user for twelve hours, and of the activity`() async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("live-new"), try await fixture.user("live-alice"))
    let answer = try await fixture.request(
      "PUT", "/activities/live-new", alice,
      body:
        #"{"token":"\#(token)","environment":"development","deviceId":"phone-1","frequentPushesEnabled":false}"#)
    #expect(answer.status == 200)
    #expect(answer.body == #"{"success":true}"#)
    let metadata = try #require(try await fixture.metadata(token))
    #expect(metadata.kind == .activity)
    #expect(metadata.activity == "live-new")
    #expect(metadata.environment == .sandbox)
    #expect(metadata.bundleID == "com.push.app")
    #expect(metadata.deviceID == "phone-1")
    #expect(metadata.frequentPushes == false)
    #expect(try await fixture.members("live-alice") == [token])
    #expect(try await !fixture.audience("com.push.app", of: token))
    #expect(try await fixture.backend.registry.activityDevices("live-new").map(\.token.text) == [token])
    let lifetime = try #require(try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer)
    #expect(lifetime > 40_000 && lifetime <= 43_200)
  }

  @Test func `a push-to-start token is kept for a year, and belongs to no activity`() async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("live-type"), try await fixture.user("live-type"))
    let path = "/activities/types/Delivery.Attributes"
    #expect(try await fixture.request("PUT", path, alice, body: #"{"token":"\#(token)"}"#).status == 200)
    let metadata = try #require(try await fixture.metadata(token))
    #expect(metadata.kind == .pushtostart)
    #expect(metadata.activity == "Delivery.Attributes")
    #expect(metadata.frequentPushes == nil)
    #expect(try await fixture.run("TTL", RegistryKeys.token(entry: token)).integer ?? 0 > 31_500_000)
    #expect(try await fixture.backend.registry.activityDevices("Delivery.Attributes").isEmpty)
  }

  @Test func `another user who registers the token takes it`() async throws {
    let fixture = try await fixture()
    let token = fixture.token("live-moved")
    let (alice, bob) = (try await fixture.user("live-before"), try await fixture.user("live-after"))
    for user in [alice, bob] {
      let body = #"{"token":"\#(token)"}"#
      #expect(try await fixture.request("PUT", "/activities/live-moved", user, body: body).status == 200)
    }
    #expect(try await fixture.members("live-before").isEmpty)
    #expect(try await fixture.members("live-after") == [token])
    #expect(try await fixture.backend.registry.activityDevices("live-moved").map(\.username) == ["live-after"])
  }

  @Test func `signing out ends the user's tokens of Live Activities, too`() async throws {
    let fixture = try await fixture()
    let alice = try await fixture.user("live-out")
    let (update, start, app) = (fixture.token("out-u"), fixture.token("out-s"), fixture.token("out-a"))
    for (path, token) in [("/activities/live-out", update), ("/activities/types/Match", start)] {
      #expect(try await fixture.request("PUT", path, alice, body: #"{"token":"\#(token)"}"#).status == 200)
    }
    #expect(try await fixture.push("register", alice, #"{"token":"\#(app)"}"#).status == 200)
    #expect(try await fixture.push("unregister", alice)["removed"] == 3)
    for token in [update, start, app] { #expect(try await fixture.metadata(token) == nil) }
    #expect(try await fixture.backend.registry.activityDevices("live-out").isEmpty)
  }

  @Test func `the phone's tokens of Live Activities go along with its app token`() async throws {
    let fixture = try await fixture()
    let (update, app) = (fixture.token("along-u"), fixture.token("along-a"))
    let (alice, bob) = (try await fixture.user("along-alice"), try await fixture.user("along-bob"))
    let body = #"{"token":"\#(update)","deviceId":"phone-9"}"#
    #expect(try await fixture.request("PUT", "/activities/along", alice, body: body).status == 200)
    let device = #"{"token":"\#(app)","deviceId":"phone-9"}"#
    #expect(try await fixture.push("register", alice, device).status == 200)
    #expect(try await fixture.push("register", bob, device).status == 200)
    #expect(try await fixture.backend.registry.activityDevices("along").map(\.username) == ["along-bob"])
  }

  @Test func `a new update token of a phone replaces the former one of the activity alone`() async throws {
    let fixture = try await fixture()
    let alice = try await fixture.user("live-rotated")
    let (old, new) = (fixture.token("rotated-old"), fixture.token("rotated-new"))
    let (other, elsewhere) = (fixture.token("rotated-other"), fixture.token("rotated-elsewhere"))
    func register(_ token: String, _ activity: String, _ phone: String) async throws {
      let body = #"{"token":"\#(token)","deviceId":"\#(phone)"}"#
      #expect(try await fixture.request("PUT", "/activities/\(activity)", alice, body: body).status == 200)
    }
    try await register(old, "rotated", "phone-1")
    try await register(other, "rotated", "phone-2")
    try await register(elsewhere, "rotated-2", "phone-1")
    try await register(new, "rotated", "phone-1")
    #expect(Set(try await fixture.backend.registry.activityDevices("rotated").map(\.token.text)) == [new, other])
    #expect(try await fixture.metadata(old) == nil)
    #expect(try await fixture.members("live-rotated") == [new, other, elsewhere])
  }

  @Test func `a token, or all of an activity, are unregistered, and no others`() async throws {
    let fixture = try await fixture()
    let alice = try await fixture.user("live-gone")
    let (one, two, three) = (fixture.token("gone-1"), fixture.token("gone-2"), fixture.token("gone-3"))
    for (token, activity) in [(one, "gone-a"), (two, "gone-a"), (three, "gone-b")] {
      let body = #"{"token":"\#(token)"}"#
      #expect(try await fixture.request("PUT", "/activities/\(activity)", alice, body: body).status == 200)
    }
    func remove(_ path: String, _ body: String?) async throws -> String {
      try await fixture.request("DELETE", path, alice, body: body).body
    }
    // Of another activity, and of another kind.
    #expect(try await remove("/activities/gone-b", #"{"token":"\#(one)"}"#) == #"{"success":true,"removed":0}"#)
    #expect(try await remove("/activities/types/GoneA", nil) == #"{"success":true,"removed":0}"#)
    #expect(try await remove("/activities/gone-a", #"{"token":"\#(one)"}"#) == #"{"success":true,"removed":1}"#)
    #expect(try await remove("/activities/gone-a", nil) == #"{"success":true,"removed":1}"#)
    #expect(try await fixture.members("live-gone") == [three])
  }

  @Test func `an activity has a thousand update tokens at most, and none of them leaves`() async throws {
    let fixture = try await fixture()
    let alice = try await fixture.user("live-full")
    for number in 0..<Registry.maximumActivityTokens {
      _ = try await fixture.backend.registry.register(
        activityToken: Registration(
          token: DeviceToken(fixture.token("full-\(number)")), username: "fan-\(number)", platform: .ios,
          kind: .activity,
          activity: "live-full", now: 1))
    }
    let refused = try await fixture.request(
      "PUT", "/activities/live-full", alice, body: #"{"token":"\#(fixture.token("full-more"))"}"#)
    #expect(refused.status == 400)
    #expect(refused.body == #"{"error":"Too many tokens"}"#)
    #expect(try await fixture.members("live-full").isEmpty)
    // Others cannot fill the activity of a user for whom a start was sent.
    let state = #"{"members":["live-known"],"starts":{"phone:1:live-known":"n"}}"#
    _ = try await fixture.run("SET", Activities.key("live-full"), state)
    let expected = try await fixture.request(
      "PUT", "/activities/live-full", try await fixture.user("live-known"),
      body: #"{"token":"\#(fixture.token("full-known"))"}"#)
    #expect(expected.status == 200)
    // One that is registered is renewed.
    let known = #"{"token":"\#(fixture.token("full-7"))"}"#
    #expect(try await fixture.request("PUT", "/activities/live-full", alice, body: known).status == 200)
  }

  @Test func `a user has ten update tokens of an activity, and the oldest one leaves`() async throws {
    let fixture = try await fixture()
    let tokens = (0...Registry.maximumActivityTokensOfUser).map { fixture.token("ten-\($0)") }
    for (number, token) in tokens.enumerated() {
      _ = try await fixture.backend.registry.register(
        activityToken: Registration(
          token: DeviceToken(token), username: "ten", platform: .ios, kind: .activity, activity: "ten",
          now: Int64(number + 1)))
    }
    #expect(Set(try await fixture.backend.registry.activityDevices("ten").map(\.token.text)) == Set(tokens.dropFirst()))
  }

  @Test func `a token gets the newest state by a job of its own, if there is one`() async throws {
    let fixture = try await fixture()
    let (token, alice) = (fixture.token("live-late"), try await fixture.user("live-late"))
    let queue = "push:jobs:live-late"
    var state = ActivityState()
    let job = try Job(parsing: Array(#"{"to":{"activity":"x"},"liveActivity":{"event":"end","shared":true}}"#.utf8))
    guard case .activity(let activity, let notification) = job.content else {
      Issue.record("no activity")
      return
    }
    _ = state.decide(
      .announce(
        ActivityJob(
          id: "j", nonce: "n", queue: queue, user: nil, order: ActivityOrder(timestamp: 1, enqueuedAt: 1, sequence: ""),
          activity, notification, priority: 10, expiresAt: nil)), now: 1)
    _ = try await fixture.run("SET", Activities.key("live-late"), String(decoding: state.json(), as: UTF8.self))
    let body = #"{"token":"\#(token)"}"#
    #expect(try await fixture.request("PUT", "/activities/live-late", alice, body: body).status == 200)
    let element = try #require(try await fixture.run("RPOP", queue).bytes)
    #expect(try Job(parsing: element).addressee == .activityToken("live-late", token: DeviceToken(token)))
    #expect(try await fixture.run("LLEN", queue).integer == 0)
  }

  @Test func `a token of somebody for whom the newest state is not gets no job`() async throws {
    let fixture = try await fixture()
    let (alice, eve) = (try await fixture.user("own-alice"), try await fixture.user("own-eve"))
    let state =
      #"{"members":["own-alice"],"all":{"job":"j","queue":"push:jobs:own","payload":"{}","timestamp":1,"#
      + #""order":{"timestamp":1,"enqueuedAt":1}}}"#
    _ = try await fixture.run("SET", Activities.key("own"), state)
    for (user, jobs) in [(eve, 0), (alice, 1)] {
      let body = #"{"token":"\#(fixture.token("own-\(jobs)"))"}"#
      #expect(try await fixture.request("PUT", "/activities/own", user, body: body).status == 200)
      #expect(try await fixture.run("LLEN", "push:jobs:own").integer == Int64(jobs))
    }
  }
}

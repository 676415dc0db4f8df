import JSON
import Testing

@testable import Simulator

/// What devices show, report and lose. Times are unix milliseconds.
struct LiveDevicesTests {
  private static let startToken = String(repeating: "cd", count: 32)
  private var devices = LiveDevices()
  private var count: UInt64 = 0

  init() {
    let owner = LiveDevice.Owner(
      deviceID: "phone", username: "anna", bearer: "secret", bundleID: "com.example.demo", environment: .production,
      sidecar: nil)
    _ = devices.add(LiveDevice(owner, seed: 1, maximumDelay: 100), startTokens: ["Ride": Self.startToken])
  }

  private mutating func id() -> PushID {
    count += 1
    return PushID(high: 0, low: count)
  }

  /// Sends a push and returns its answer and what the device reports.
  @discardableResult
  private mutating func push(
    _ token: String, at timestamp: Int64, _ fields: String = #""event":"update""#, state: String = "",
    expiration: String? = nil, topic: String = "com.example.demo.push-type.liveactivity", id: PushID? = nil,
    now: Int64 = 1000
  ) -> (answer: Answer, reports: [LiveDevice.Report]) {
    let head = RequestHead(changing: [
      ":path": "/3/device/\(token)", "apns-topic": topic, "apns-push-type": "liveactivity",
      "apns-expiration": expiration,
    ])
    let body = #"{"aps":{"timestamp":\#(timestamp),\#(fields),"content-state":{"state":"\#(state)"}}}"#
    let id = id ?? self.id()
    let (answer, reports) = devices.receive(head, body: Array(body.utf8), id: id, now: now)
    return (answer, reports)
  }

  /// Starts an activity and returns its update token.
  private mutating func start(_ activity: String = "ride") throws -> String {
    let (answer, reports) = push(Self.startToken, at: 1, LiveActivityPayload.startFields(activity), state: "first")
    #expect(answer == .accepted && reports.count == 1)
    let report = try #require(reports.first)
    #expect(report.activityID == activity && (0...100).contains(report.delay))
    return report.token
  }

  private func activity(_ id: String = "ride") throws -> LiveActivity {
    try #require(devices.devices["phone"]?.activities[id])
  }

  private func state(_ id: String = "ride", card: Int = 0) throws -> String? {
    try activity(id).cards[card].contentState?["state"]?.string
  }

  @Test func `the newest timestamp is shown, and of two in one second the later one`() throws {
    var test = self
    let token = try test.start()
    test.push(token, at: 5, state: "five")
    test.push(token, at: 4, state: "four")
    #expect(try test.state() == "five")
    test.push(token.uppercased(), at: 5, state: "five again")
    #expect(try test.state() == "five again")
    let activity = try test.activity()
    #expect(activity.applied == 2 && activity.older == 1 && activity.starts == 1 && activity.cards.count == 1)
  }

  @Test func `a second start makes a second card with its own token`() throws {
    var test = self
    let (first, second) = (try test.start(), try test.start())
    #expect(first != second)
    #expect(try test.activity().cards.count == 2)
    test.push(second, at: 9, state: "second")
    #expect(try test.state(card: 0) == "first" && test.state(card: 1) == "second")
  }

  @Test func `an end ends the card, and later pushes are refused and counted`() throws {
    var test = self
    let token = try test.start()
    let end = test.id()
    #expect(test.push(token, at: 2, #""event":"end""#, state: "over", id: end, now: 7000).answer == .accepted)
    #expect(test.push(token, at: 3).answer == Answer(410, "Unregistered", timestamp: 7000))
    #expect(test.push(token, at: 2, #""event":"end""#, id: end).answer.status == 410)
    let activity = try test.activity()
    #expect(try test.state() == "over" && activity.cards[0].isEnded)
    #expect(activity.afterEnd == 1, "the end that is sent again does not count")
  }

  @Test func `an end that waits for an offline device counts as well`() throws {
    var test = self
    let token = try test.start()
    _ = test.devices.setOnline(false, "phone", now: 0)
    test.push(token, at: 2, #""event":"end""#)
    #expect(test.push(token, at: 3).answer == .accepted)
    #expect(try test.activity().afterEnd == 1)
  }

  @Test func `for an offline device one push is kept, the latest`() throws {
    var test = self
    let (token, other) = (try test.start(), try test.start("other"))
    _ = test.devices.setOnline(false, "phone", now: 0)
    test.push(token, at: 5, state: "five")
    test.push(other, at: 6, state: "six")
    test.push(other, at: 7, state: "at once", expiration: "0")
    #expect(try test.state() == "first" && test.state("other") == "first")
    _ = test.devices.setOnline(true, "phone", now: 1000)
    #expect(try test.state() == "first" && test.state("other") == "six")
    let activity = try test.activity()
    #expect(activity.lost == 1 && activity.newestLost == 5)
    #expect(try test.activity("other").newestLost == 7)
  }

  @Test func `what has expired is not delivered on return`() throws {
    var test = self
    let token = try test.start()
    _ = test.devices.setOnline(false, "phone", now: 0)
    test.push(token, at: 5, state: "five", expiration: "2")
    _ = test.devices.setOnline(true, "phone", now: 3000)
    #expect(try test.state() == "first" && test.activity().newestLost == 5)
  }

  @Test func `a start for an offline device is shown and reported on return`() throws {
    var test = self
    _ = test.devices.setOnline(false, "phone", now: 0)
    #expect(test.push(Self.startToken, at: 1, LiveActivityPayload.startFields()).reports.isEmpty)
    #expect(try test.activity().cards.isEmpty && test.activity().starts == 1)
    #expect(test.devices.setOnline(true, "phone", now: 0).count == 1)
    #expect(try test.activity().cards.count == 1)
  }

  @Test func `a report waits while the device is offline, and ends when it is taken`() throws {
    var test = self
    let report = try #require(test.push(Self.startToken, at: 1, LiveActivityPayload.startFields()).reports.first)
    _ = test.devices.setOnline(false, "phone", now: 0)
    #expect(test.devices.beginReport(report) == nil)
    let again = try #require(test.devices.setOnline(true, "phone", now: 0).first)
    #expect(again.token == report.token && test.devices.beginReport(again)?.username == "anna")
    test.devices.endReport(again)
    #expect(test.devices.setOnline(true, "phone", now: 0).isEmpty)
    #expect(try test.activity().cards[0].registration == .done)
  }

  @Test func `a rotated token is reported, and the old one is refused`() throws {
    var test = self
    let old = try test.start()
    let new = try #require(test.devices.rotateTokens(of: "ride", on: "phone", now: 5000).first).token
    #expect(test.push(old, at: 2).answer == Answer(410, "ExpiredToken", timestamp: 5000))
    #expect(test.push(new, at: 2, state: "new").answer == .accepted)
    #expect(try test.state() == "new" && test.activity().afterEnd == 0)
  }

  @Test func `an end under an earlier token of the card ends nothing, and is not one too many`() throws {
    var test = self
    let old = try test.start()
    let new = try #require(test.devices.rotateTokens(of: "ride", on: "phone", now: 5000).first).token
    let refusal = Answer(410, "ExpiredToken", timestamp: 5000)
    #expect(test.push(old, at: 2, #""event":"end""#).answer == refusal)
    #expect(test.push(new, at: 2, #""event":"end""#).answer == .accepted)
    #expect(test.push(old, at: 2, #""event":"end""#).answer == refusal)
    #expect(try test.activity().afterEnd == 0)
    #expect(test.push(old, at: 3).answer == refusal)
    #expect(try test.activity().afterEnd == 1)
  }

  @Test func `an update token dies after 12 hours`() throws {
    var test = self
    let token = try test.start()
    let end = 1000 + LiveDevices.tokenLife
    #expect(test.push(token, at: 2, now: end - 1).answer == .accepted)
    #expect(test.push(token, at: 3, now: end).answer == Answer(410, "ExpiredToken", timestamp: end))
  }

  @Test func `a token is for its topic, and an unknown one is refused`() throws {
    var test = self
    let token = try test.start()
    let other = test.push(token, at: 2, topic: "com.example.other.push-type.liveactivity")
    #expect(other.answer == Answer(400, "DeviceTokenNotForTopic"))
    #expect(test.push(RequestHead.token, at: 2).answer == Answer(400, "BadDeviceToken"))
    let alert = RequestHead(changing: [:])
    #expect(test.devices.receive(alert, body: [], id: test.id(), now: 0).0 == .accepted)
  }

  @Test func `a start under an update token is ignored, as is another one under a push-to-start token`() throws {
    var test = self
    let token = try test.start()
    test.push(token, at: 2, LiveActivityPayload.startFields())
    test.push(Self.startToken, at: 2)
    test.push(Self.startToken, at: 2, LiveActivityPayload.startFields().replacing("Ride", with: "Walk"))
    #expect(test.devices.devices["phone"]?.ignored == 3)
    #expect(try test.activity().cards.count == 1)
  }

  @Test func `a card on a channel gets its broadcasts, and what is kept of them on return`() throws {
    var test = self
    let fields = LiveActivityPayload.startFields(input: #""input-push-channel":"YQ==""#)
    #expect(test.push(Self.startToken, at: 1, fields).reports.isEmpty, "it has no token")
    func broadcast(at timestamp: Int64, _ state: String, keeps: Bool) throws {
      let payload = try LiveActivityPayload(at: timestamp, state: state)
      let push = LivePush(payload: payload, id: test.id(), expiration: keeps ? nil : 0)
      test.devices.broadcast(push, on: "YQ==", keepsNewest: keeps, now: 0)
      test.devices.broadcast(push, on: "Yg==", keepsNewest: keeps, now: 0)
    }
    try broadcast(at: 2, "two", keeps: true)
    #expect(try test.state() == "two" && test.activity().applied == 1)
    _ = test.devices.setOnline(false, "phone", now: 0)
    try broadcast(at: 3, "three", keeps: true)
    try broadcast(at: 4, "four", keeps: true)
    _ = test.devices.setOnline(true, "phone", now: 0)
    #expect(try test.state() == "four" && test.activity().applied == 2 && test.activity().lost == 0)
    _ = test.devices.setOnline(false, "phone", now: 0)
    try broadcast(at: 5, "five", keeps: false)
    _ = test.devices.setOnline(true, "phone", now: 0)
    #expect(try test.state() == "four" && test.activity().newestLost == 5)
    test.push(Self.startToken, at: 3, LiveActivityPayload.startFields("late", input: #""input-push-channel":"YQ==""#))
    #expect(try test.state("late") == "four", "a new subscriber gets what is kept")
  }

  @Test func `one seed gives the same tokens and delays`() throws {
    var (one, two) = (self, self)
    #expect(try one.start() == two.start())
  }
}

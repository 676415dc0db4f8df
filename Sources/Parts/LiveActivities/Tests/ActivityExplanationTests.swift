import JSON
import Testing
@testable import LiveActivities

@testable import Jobs
@testable import Operations
@testable import PushModel
@testable import Registry

/// What is said about a Live Activity, word by word.
struct ActivityExplanationTests {
  /// 13:30:00 where the tests are.
  private static let now: Int64 = 1_795_264_200_000
  private static let token = "0000feedcafe0123456789"

  private func facts(_ state: ActivityState = ActivityState(), _ devices: [Device] = []) -> ActivityFacts {
    let text = TimeText(now: Self.now, localTime: LocalTime { _ in 3600 })
    return ActivityFacts(id: "match", state: state, devices: devices, text: text)
  }

  private func device(_ token: String = token, user: String? = "alice", isFrequent: Bool = true) -> Device {
    Device(
      token: DeviceToken(token), username: user.map { Username($0) }, bundleID: "com.a", environment: .sandbox,
      updatedAt: Self.now - 9000,
      kind: .activity, deviceID: "phone-1", activity: "match", frequentPushes: isFrequent)
  }

  private var known: ActivityDevice { ActivityDevice(token: DeviceToken(Self.token), phone: "phone-1", user: "alice") }

  private func newest(
    _ job: String = "goal-1", isEnd: Bool = false, phase: ActivityState.Newest.Phase = .settled,
    payload: String = "{}", reached: Set<String> = [], timestamp: Int64 = 1_795_264_000, isShared: Bool = true
  ) -> ActivityState.Newest {
    ActivityState.Newest(
      jobID: job, nonce: "n", queue: "push:jobs", isEnd: isEnd, isShared: isShared,
      order: ActivityOrder(timestamp: timestamp, enqueuedAt: 1, sequence: ""), timestamp: timestamp,
      payload: Array(payload.utf8), priority: 10, expiresAt: nil, phase: phase, since: Self.now - 5000,
      reached: reached)
  }

  private func sentences(_ explanation: ActivityExplanation, _ severity: Finding.Severity) -> [String] {
    explanation.summary.findings.filter { $0.severity == severity }.map(\.text)
  }

  @Test func `an activity of which nothing is known`() {
    let explanation = ActivityExplanation(facts())
    #expect(!explanation.isKnown)
    #expect(
      explanation.summary.outcome
        == "Nothing is known of Live Activity match: no job has named it in the last 12 hours, and it has no update token."
    )
    #expect(explanation.summary.findings.isEmpty)
  }

  @Test func `an activity whose newest state all tokens have`() {
    var state = ActivityState()
    state.all = newest(reached: [known.token])
    let explanation = ActivityExplanation(facts(state, [device()]))
    #expect(explanation.isKnown)
    #expect(
      explanation.summary.outcome
        == "The newest state of Live Activity match is that of job goal-1; APNs accepted it for 1 device.")
    #expect(sentences(explanation, .problem).isEmpty && sentences(explanation, .warning).isEmpty)
    #expect(
      sentences(explanation, .fact) == [
        "The newest state of all users, an update with the timestamp 1795264000, is that of job goal-1 (settled); APNs "
          + "accepted it for 1 device.",
        "Update token 0000feed… of user alice is registered for com.a, sandbox, phone phone-1, frequent updates. It has the "
          + "newest state.",
      ])
    #expect(explanation.tokens.map(\.isCurrent) == [true])
  }

  @Test func `a state that waits for a token, since when and until when`() {
    var state = ActivityState()
    state.all = newest(phase: .waiting)
    state.starts = ["phone:1\nalice": "n", "phone:2\nalice": "n"]
    var facts = facts(state)
    facts.waits["goal-1"] = .init(since: Self.now - 60_000, until: Self.now + 3_600_000)
    let explanation = ActivityExplanation(facts)
    #expect(
      explanation.summary.outcome
        == "The newest state of Live Activity match is that of job goal-1, which waits for an update token.")
    #expect(
      sentences(explanation, .problem) == [
        "It has no update token of the activity, so the state of job goal-1 waits until 14:30:00 at the latest."
      ])
    #expect(explanation.summary.findings[0].since == Self.now - 60_000)
    #expect(explanation.starts == 2)
    #expect(explanation.states.map(\.until) == [Self.now + 3_600_000])
    #expect(!explanation.summary.isReachable)
  }

  @Test func `users with states of their own are told apart, and each token has its owner's`() {
    var state = ActivityState()
    state.all = newest(reached: [known.token])
    state.users["alice"] = newest("own", timestamp: 1_795_264_100)
    let other = device("1111feedcafe0123456789", user: "bob")
    let explanation = ActivityExplanation(facts(state, [device(), other]))
    #expect(explanation.states.map(\.user) == [nil, "alice"])
    #expect(explanation.tokens.map(\.isCurrent) == [false, false])
    #expect(explanation.summary.outcome.hasPrefix("The newest state of user alice of Live Activity match"))
  }

  @Test func `a state of which no start is known waits for nobody's token, and a stranger's token is called so`() {
    var state = ActivityState()
    state.all = newest(phase: .waiting, isShared: false)
    let explanation = ActivityExplanation(facts(state, [device()]))
    #expect(
      sentences(explanation, .problem) == [
        "No start of it is known, so nobody knows whose it is, and the state of job goal-1 waits (1 token registered)."
      ])
    #expect(explanation.tokens.map(\.isCurrent) == [nil])
    #expect(explanation.tokens.map(\.isExpected) == [false])
    #expect(
      sentences(explanation, .fact)[1].hasSuffix(
        " No start was sent to this user, who gets only states that are shared."))
    #expect(String(decoding: explanation.object.bytes, as: UTF8.self).contains(#""stranger":true"#))
    state.members = ["alice"]
    #expect(ActivityExplanation(facts(state, [device()])).tokens.map(\.isExpected) == [true])
  }

  @Test func `an activity that was ended, and one that was only started`() {
    var ended = ActivityState()
    ended.all = newest("whistle", isEnd: true, reached: ["a", "b"])
    #expect(
      ActivityExplanation(facts(ended)).summary.outcome
        == "Live Activity match was ended by job whistle; APNs accepted the end for 2 devices.")
    var started = ActivityState()
    started.starts = ["phone:1\nalice": "n"]
    started.firstStart = .init(jobID: "kick-off", order: ActivityOrder(timestamp: 1, enqueuedAt: 1, sequence: ""))
    let explanation = ActivityExplanation(facts(started))
    #expect(
      explanation.summary.outcome
        == "Live Activity match was started on 1 device; the app has registered no update token yet.")
    #expect(
      sentences(explanation, .fact) == ["It was started on 1 device, first by job kick-off. None is started twice."])
  }

  @Test func `an activity that a channel updates has no update token, and a state without the channel waits in vain`() {
    var state = ActivityState()
    state.starts = ["phone:1\nalice": "n"]
    let order = ActivityOrder(timestamp: 1, enqueuedAt: 1, sequence: "")
    state.firstStart = .init(jobID: "kick-off", order: order, channel: "cup")
    let explanation = ActivityExplanation(facts(state))
    #expect(
      explanation.summary.outcome
        == "Live Activity match was started on 1 device; channel cup updates it, so it has no update token.")
    #expect(explanation.summary.isReachable && explanation.channel == "cup")
    state.all = newest(phase: .waiting)
    #expect(
      ActivityExplanation(facts(state)).summary.findings.first?.fix
        == "Send the state to the channel cup, which updates the activity: to.channel.")
  }

  @Test func `too many updates in a minute are a warning, twenty are not`() {
    var state = ActivityState()
    state.all = newest()
    state.updates = (1...20).map { Self.now / 1000 - $0 }
    #expect(sentences(ActivityExplanation(facts(state)), .warning).isEmpty)
    state.updates.append(Self.now / 1000)
    #expect(
      sentences(ActivityExplanation(facts(state)), .warning) == [
        "It got 21 updates in the last minute. APNs may leave some out: one in 3 seconds is too often."
      ])
    #expect(ActivityExplanation(facts(state, [device()])).summary.findings.first?.fix?.hasSuffix("state.") == true)
    #expect(
      ActivityExplanation(facts(state, [device(isFrequent: false)])).summary.findings.first?.fix
        == "Send fewer. A device shows only the newest state. 1 device without frequent updates may show even fewer.")
    state.updates = state.updates.map { $0 - 60 }
    #expect(sentences(ActivityExplanation(facts(state)), .warning).isEmpty)
  }

  @Test func `a state with a number that looks like a Unix time is a warning`() {
    var state = ActivityState()
    state.all = newest(payload: #"{"aps":{"content-state":{"endsAt":1795264200}}}"#)
    #expect(
      sentences(ActivityExplanation(facts(state)), .warning) == [
        "Job goal-1: contentState.endsAt looks like a Unix time. If it is a Date in the app, subtract 978307200: Swift "
          + "decodes a Date as seconds since 2001-01-01."
      ])
  }

  @Test func `tokens are shortened unless whole ones were asked for`() {
    var facts = facts(ActivityState(), [device()])
    #expect(ActivityExplanation(facts).tokens.map(\.name) == ["0000feed…"])
    facts.showsWholeTokens = true
    #expect(ActivityExplanation(facts).tokens.map(\.name) == [Self.token])
  }
}

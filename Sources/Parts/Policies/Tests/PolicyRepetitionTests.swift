import Testing

@testable import Jobs
@testable import Policies

/// Jobs that run again, as a retry or after a crash, are counted once.
struct PolicyRepetitionTests {
  private static let noon = "2026-06-10 12:00:00"
  private static let night = "2026-06-10 23:30:00"
  private static let morning = "2026-06-11 08:00:00"

  @Test(arguments: [0.0, 15, 90, 400])
  func `a job that was allowed is allowed again and counted once`(seconds: Double) {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: Self.noon) == .send)
    #expect(scene.decide("attention_ping", "a", at: Self.noon, plus: seconds) == .send)
    #expect(scene.state.grants.map(\.job) == ["a"])
  }

  @Test func `a full limit does not suppress the jobs that fill it`() {
    var scene = Scene()
    for job in ["a", "b", "c"] { #expect(scene.decide("action_needed", job, at: Self.noon) == .send) }
    for job in ["c", "a", "b"] { #expect(scene.decide("action_needed", job, at: Self.noon, plus: 60) == .send) }
    #expect(scene.decide("action_needed", "d", at: Self.noon, plus: 61) == .suppress(.limit))
    #expect(scene.state.grants.count == 3)
  }

  @Test func `a window begins at the latest attempt`() {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: Self.noon) == .send)
    #expect(scene.decide("attention_ping", "a", at: Self.noon, plus: 50) == .send)
    #expect(scene.decide("attention_ping", "b", at: Self.noon, plus: 109) == .suppress(.collapsed))
    #expect(scene.decide("attention_ping", "b", at: Self.noon, plus: 110) == .send)
  }

  @Test func `a retry can be suppressed by a later job, and its first grant stays`() {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: Self.noon) == .send)
    #expect(scene.decide("message_delivered", "b", at: Self.noon, plus: 60) == .send)
    #expect(scene.decide("attention_ping", "a", at: Self.noon, plus: 61) == .suppress(.collapsed))
    #expect(scene.state.grants.map(\.job) == ["a", "b"])
  }

  @Test func `a retry is not sent in quiet hours`() {
    var scene = Scene()
    #expect(scene.decide("attention_ping", "a", at: "2026-06-10 22:59:30") == .send)
    #expect(scene.decide("attention_ping", "a", at: "2026-06-10 23:00:30") == .deferUntil(scene.time(Self.morning)))
  }

  @Test func `a held job that runs again is held again`() {
    var scene = Scene()
    let end = scene.time(Self.morning)
    for minute in 0..<3 {
      #expect(scene.decide("attention_ping", "a", at: Self.night, plus: Double(minute) * 60) == .deferUntil(end))
    }
    #expect(scene.state.held == .init(job: "a", until: end))
    #expect(scene.decide("attention_ping", "b", at: Self.night, plus: 300) == .suppress(.collapsed))
  }

  @Test func `the state drops grants that no rule counts`() {
    var scene = Scene()
    scene.policy.quietHours = nil
    for day in 0..<5 {
      for hour in 0..<20 {
        let seconds = Double(day * 86_400 + hour * 3600)
        #expect(scene.decide("action_needed", "\(day)-\(hour)", at: Self.noon, plus: seconds) == .send)
      }
    }
    #expect(scene.state.grants.count <= 20)
    #expect(scene.policy.lifetime(of: scene.state, now: 0) == 86_400_000)
  }

  @Test func `the state lives as long as a job is held`() {
    var scene = Scene()
    scene.policy.limits = [.init(count: 3, seconds: 300)]
    let now = scene.time(Self.night)
    _ = scene.decide("attention_ping", "a", at: now)
    #expect(scene.policy.lifetime(of: scene.state, now: now) == scene.time(Self.morning) - now)
  }

  @Test(arguments: ["", "{}", "null", "[1]", #"{"grants":7,"held":[]}"#, #"{"grants":[{"job":1}]}"#])
  func `invalid bytes give an empty state`(text: String) {
    #expect(PolicyState(json: Array(text.utf8)) == PolicyState())
  }
}

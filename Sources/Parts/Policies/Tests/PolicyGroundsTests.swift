import Jobs
import Testing
@testable import Policies

/// The numbers behind the decisions of a policy.
struct PolicyGroundsTests {
  private static let noon = "2026-11-21 12:00:00"
  private var scene = Scene()

  /// Decides about a job and returns the grounds of the decision.
  private mutating func grounds(_ className: String, _ job: String, at now: Int64) throws -> PolicyGrounds? {
    let notificationClass = try #require(scene.policy.classes.first { $0.name == className })
    let request = PolicyRequest(job: job, notificationClass: notificationClass, expiration: nil)
    let before = scene.state
    let decision = scene.decide(className, job, at: now)
    return scene.policy.grounds(of: decision, before, request, now: now, localTime: scene.localTime)
  }

  @Test mutating func `a limit tells how much is used, and when the next is allowed`() throws {
    let noon = scene.time(Self.noon)
    for place in 0..<3 as Range<Int64> {
      #expect(try grounds("action_needed", "\(place)", at: noon + place * 1000) == nil)
    }
    #expect(
      try grounds("action_needed", "4", at: noon + 9000)
        == PolicyGrounds(limit: 3, used: 3, seconds: 300, until: noon + 300_000))
  }

  @Test mutating func `at the time that is told, the limit does allow the next`() throws {
    let noon = scene.time(Self.noon)
    for place in 0..<3 { _ = try grounds("action_needed", "\(place)", at: noon) }
    let until = try #require(try grounds("action_needed", "4", at: noon + 1)?.until)
    #expect(scene.decide("action_needed", "5", at: until - 1) == .suppress(.limit))
    #expect(scene.decide("action_needed", "6", at: until) == .send)
  }

  @Test mutating func `spacing and collapsing tell until when`() throws {
    let noon = scene.time(Self.noon)
    _ = try grounds("safety_critical", "1", at: noon)
    #expect(
      try grounds("safety_critical", "2", at: noon + 1)
        == PolicyGrounds(limit: 1, used: 1, seconds: 120, until: noon + 120_000))
    _ = try grounds("attention_ping", "3", at: noon + 2)
    #expect(
      try grounds("message_delivered", "4", at: noon + 3)
        == PolicyGrounds(limit: 1, used: 1, seconds: 60, until: noon + 60_002))
  }

  @Test mutating func `quiet hours tell when they end`() throws {
    let night = scene.time("2026-11-21 23:30:00")
    let end = scene.time("2026-11-22 08:00:00")
    #expect(try grounds("action_needed", "1", at: night) == PolicyGrounds(until: end))
    #expect(try grounds("attention_ping", "2", at: night) == PolicyGrounds(until: end))
    #expect(try grounds("attention_ping", "3", at: night) == PolicyGrounds(limit: 1, used: 1, until: end))
  }

  @Test mutating func `before quiet hours the policy tells when they begin`() throws {
    scene.policy.rhythm.suppressBeforeQuietMinutes = 30
    let evening = scene.time("2026-11-21 22:45:00")
    #expect(
      try grounds("attention_ping", "1", at: evening) == PolicyGrounds(until: scene.time("2026-11-21 23:00:00")))
  }

  @Test mutating func `usage counts each limit by its own period`() {
    let noon = scene.time(Self.noon)
    for place in 0..<3 as Range<Int64> { _ = scene.decide("action_needed", "\(place)", at: noon + place) }
    let usage = scene.policy.usage(of: scene.state, now: noon + 400_000)
    #expect(usage.map(\.used) == [0, 3])
    #expect(usage.map(\.fullUntil) == [nil, nil])
    #expect(scene.policy.usage(of: scene.state, now: noon + 2).map(\.fullUntil) == [noon + 300_000, nil])
  }
}

import EventLoop
import JSON
import PushModel
import Redis
import RegistrySupport
import Testing
import TestSupport

@testable import Events
@testable import Registry

extension Fixture {
  /// What changes devices in steps.
  var cluster: ClusterExecutor? { registry.executor as? ClusterExecutor }
}

/// A process that ends between the change of a device and its event.
@EventLoop
@Suite(.serialized)
struct EventCrashTests {
  /// Carries out the steps of a registration up to, and without, the first step that `isLast` accepts.
  private func register(
    _ token: String, _ user: String, _ fixture: Fixture, until isLast: (Step) -> Bool
  ) async throws {
    let registration = Registration(token: DeviceToken(token), username: Username(user), platform: .ios, now: 1000)
    var change = StepwiseChange(token, .register(registration), maximumDevices: 10, makesEvents: true, nonce: 1)
    let steps = try #require(fixture.cluster).steps
    var replies: [StepReply] = []
    while case .send(let next) = change.next(replies), !next.contains(where: isLast) {
      let sent = change
      replies = try await withCheckedContinuation { continuation in
        steps.carryOut(next, of: sent) { continuation.resume(returning: $0) }
      }.get()
    }
  }

  private func isPublish(_ step: Step) -> Bool { step == .publish }

  private func isSwap(_ step: Step) -> Bool {
    if case .swap = step { true } else { false }
  }

  @Test func `behind the change: another process writes the event`() async throws {
    try await Way.$current.withValue(.stepwise) {
      // A server of its own: on a common one other suites have changes under way.
      let fixture = try await Fixture(server: try await RedisServer(), writesEvents: true)
      let token = fixture.token("events-crash")
      try await register(token, "events-crash", fixture, until: isPublish)
      #expect(try await fixture.events(of: token).isEmpty)
      let cluster = try #require(fixture.cluster)
      #expect(try await cluster.repair(after: -1) >= 1)
      #expect(try await fixture.events(of: token).map { $0["type"]?.string } == ["token.registered"])
      #expect(try await cluster.repair(after: -1) == 0)
    }
  }

  @Test func `before the change: there is no event`() async throws {
    try await Way.$current.withValue(.stepwise) {
      let fixture = try await Fixture(writesEvents: true)
      let token = fixture.token("events-early")
      try await register(token, "events-early", fixture, until: isSwap)
      _ = try await fixture.cluster?.repair(after: -1)
      #expect(try await fixture.events(of: token).isEmpty)
    }
  }

  @Test func `the next change of the device writes the event that a crash has left, first`() async throws {
    try await Way.$current.withValue(.stepwise) {
      let fixture = try await Fixture(writesEvents: true)
      let token = fixture.token("events-next-change")
      try await register(token, "events-first", fixture, until: isPublish)
      _ = try await fixture.register(token, "events-second", now: 2000)
      let types = try await fixture.events(of: token).map { $0["type"]?.string }
      #expect(types == ["token.registered", "token.transferred"])
    }
  }

  @Test func `an event that was written, but not removed from the outbox, is not written again`() async throws {
    try await Way.$current.withValue(.stepwise) {
      let fixture = try await Fixture(writesEvents: true)
      let token = fixture.token("events-twice")
      try await register(token, "events-twice", fixture, until: isPublish)
      let outbox = EventStream.outbox(of: RegistryKeys.token(entry: token))
      let entry = try #require(try await fixture.run("LINDEX", outbox, "0").string)
      _ = try await fixture.register(token, "events-twice", app: "com.t", now: 2000)
      _ = try await fixture.run("RPUSH", outbox, entry)
      _ = try await fixture.register(token, "events-twice", app: "com.u", now: 3000)
      let apps = try await fixture.events(of: token).map { $0["data"]?["app"]?.string }
      #expect(apps == [nil, "com.t", "com.u"])
      #expect(try await fixture.run("LLEN", outbox).integer == 1)
      #expect(try await fixture.run("LINDEX", outbox, "0").string?.contains("{") == false)
    }
  }

  @Test func `a slot that moves to a server whose clock is behind loses no event`() async throws {
    try await Way.$current.withValue(.stepwise) {
      let fixture = try await Fixture(writesEvents: true)
      let token = fixture.token("events-clock")
      try await register(token, "events-clock", fixture, until: isPublish)
      // The server before was an hour ahead.
      let outbox = EventStream.outbox(of: RegistryKeys.token(entry: token))
      let entry = try #require(try await fixture.run("LPOP", outbox).string)
      let parts = entry.split(separator: " ", maxSplits: 1)
      let number = try #require(Int64(parts[0])) + 3_600_000_000
      _ = try await fixture.run("RPUSH", outbox, "\(number) \(parts[1])")
      for app in ["com.a", "com.b", "com.c"] {
        _ = try await fixture.register(token, "events-clock", app: app, now: 2000)
      }
      let apps = try await fixture.events(of: token).map { $0["data"]?["app"]?.string }
      #expect(apps == [nil, "com.a", "com.b", "com.c"])
      #expect(try await fixture.run("LINDEX", outbox, "0").string == "\(number + 3)")
      let outlives = try await fixture.run("TTL", outbox).integer ?? 0
      #expect(outlives > EventOutbox.markSeconds)
    }
  }
}

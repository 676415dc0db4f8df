import EventLoop
import Events
import JSON
import PushModel
import Redis
import RegistrySupport
import Telemetry
import TestSupport
import Testing

@testable import Registry

/// The events of every change of a device, in the order of the changes.
@EventLoop
@Suite(.serialized, .inEveryWay)
struct DeviceEventTests {
  private func events(_ fixture: Fixture, _ token: String) async throws -> [String] {
    try await fixture.events(of: token).map { event in
      let data = event["data"]
      let words = ["user", "from", "to", "instance", "app", "reason"].compactMap { key in
        data?[key]?.string.map { "\(key)=\($0)" }
      }
      return ([event["type"]?.string ?? ""] + words).joined(separator: " ")
    }
  }

  @Test func `a registration, its repetition, a new app, a transfer and the end`() async throws {
    let fixture = try await Fixture(writesEvents: true)
    let token = fixture.token("events-life")
    _ = try await fixture.register(token, "events-a", app: "com.a", now: 1000)
    _ = try await fixture.register(token, "events-a", app: "com.a", now: 2000)
    _ = try await fixture.register(token, "events-a", app: "com.b", now: 3000)
    _ = try await fixture.register(token, "events-b", app: "com.b", now: 4000)
    _ = try await fixture.registry.unregister(token: DeviceToken(token), username: "events-a")
    _ = try await fixture.registry.unregister(token: DeviceToken(token), username: "events-b")
    _ = try await fixture.registry.unregister(token: DeviceToken(token), username: "events-b")
    #expect(
      try await events(fixture, token) == [
        "token.registered user=events-a app=com.a", "token.registered user=events-a app=com.b",
        "token.transferred from=events-a to=events-b app=com.b",
        "token.removed user=events-b app=com.b reason=unregistered",
      ])
    let first = try #require(try await fixture.events(of: token).first)
    #expect(first["data"]?["platform"]?.string == "ios")
    #expect(first["at"]?.time ?? 0 > 1_700_000_000_000)
  }

  @Test func `a device that makes room is removed before the new one is registered`() async throws {
    let fixture = try await Fixture(maximumDevices: 1, writesEvents: true)
    let (old, new) = (fixture.token("events-old"), fixture.token("events-new"))
    _ = try await fixture.register(old, "events-full", now: 1000)
    _ = try await fixture.register(new, "events-full", now: 2000)
    #expect(
      try await events(fixture, old) == [
        "token.registered user=events-full", "token.removed user=events-full reason=limit",
      ])
    #expect(try await events(fixture, new) == ["token.registered user=events-full"])
  }

  @Test func `a stale device is removed with the reason of APNs, a renewed one is not`() async throws {
    let fixture = try await Fixture(writesEvents: true)
    let (stale, renewed) = (fixture.token("events-stale"), fixture.token("events-renewed"))
    for token in [stale, renewed] { _ = try await fixture.register(token, "events-s", app: "com.s", now: 1000) }
    _ = try await fixture.register(renewed, "events-s", app: "com.s", now: 5000)
    _ = try await withCheckedContinuation { continuation in
      fixture.registry.removeStale(
        [DeviceToken(stale), DeviceToken(renewed)].map {
          StaleDevice(token: $0, owner: "events-s", bundleID: "com.s", notAfter: 2000, reason: "Unregistered")
        }
      ) { continuation.resume(returning: $0) }
    }.get()
    #expect(try await events(fixture, stale).last == "token.removed user=events-s app=com.s reason=Unregistered")
    #expect(try await events(fixture, renewed) == ["token.registered user=events-s app=com.s"])
  }

  @Test func `an exchange of the token removes one and registers the other`() async throws {
    let fixture = try await Fixture(writesEvents: true)
    let (current, new) = (fixture.token("events-current"), fixture.token("events-next"))
    _ = try await fixture.register(current, "events-x", app: "com.x", now: 1000)
    _ = try await fixture.registry.replace(
      token: DeviceToken(current), with: DeviceToken(new), of: "events-x", now: 2000)
    _ = try await fixture.registry.replace(token: DeviceToken(new), with: DeviceToken(new), of: "events-x", now: 3000)
    #expect(
      try await events(fixture, current) == [
        "token.registered user=events-x app=com.x", "token.removed user=events-x app=com.x reason=replaced",
      ])
    #expect(try await events(fixture, new) == ["token.registered user=events-x app=com.x"])
  }

  @Test func `forgetting a device and all devices of a user`() async throws {
    let fixture = try await Fixture(writesEvents: true)
    let (one, other) = (fixture.token("events-one"), fixture.token("events-other"))
    for token in [one, other] { _ = try await fixture.register(token, "events-f", now: 1000) }
    _ = try await fixture.registry.forget(token: DeviceToken(one))
    _ = try await fixture.registry.unregisterAll(username: "events-f")
    for token in [one, other] {
      #expect(
        try await events(fixture, token) == [
          "token.registered user=events-f", "token.removed user=events-f reason=unregistered",
        ])
    }
  }

  @Test func `an entry that is another user's, and one that has expired`() async throws {
    let fixture = try await Fixture(writesEvents: true)
    let (other, expired) = (fixture.token("events-mismatch"), fixture.token("events-expired"))
    _ = try await fixture.register(other, "events-owner", now: 1000)
    for token in [other, expired] { _ = try await fixture.run("SADD", RegistryKeys.userTokens("events-m"), token) }
    let removals = [other, expired].map { Removal(entry: Array($0.utf8), reason: .otherOwner) }
    _ = try await fixture.clean(user: "events-m", removals)
    try await eventually("the events are written") {
      let last = [try await events(fixture, other).last, try await events(fixture, expired).last]
      return last == [
        "token.removed user=events-m reason=mismatch", "token.removed user=events-m reason=expired",
      ]
    }
  }

  @Test func `the device of an instance`() async throws {
    let fixture = try await Fixture(writesEvents: true)
    let (first, second) = (fixture.token("events-i1"), fixture.token("events-i2"))
    func register(_ token: String) async throws {
      try await fixture.registry.register(
        instance: "events-i", InstanceRecord(token: DeviceToken(token), environment: .sandbox, updatedAt: 1000))
    }
    try await register(first)
    try await register(first)
    try await register(second)
    _ = try await withCheckedContinuation { continuation in
      fixture.registry.deactivate(
        instance: "events-i", token: DeviceToken(second), notAfter: 2000, reason: "BadDeviceToken"
      ) {
        continuation.resume(returning: $0)
      }
    }.get()
    try await eventually("the events are written") {
      try await events(fixture, second).last == "token.removed instance=events-i reason=BadDeviceToken"
    }
    #expect(
      try await events(fixture, first) == [
        "token.registered instance=events-i", "token.removed instance=events-i reason=replaced",
      ])
    #expect(try await events(fixture, second).first == "token.registered instance=events-i")
  }

  @Test func `many users who fight for a token leave events in the order of its owners`() async throws {
    let fixture = try await Fixture(writesEvents: true)
    let token = fixture.token("events-fight")
    let fighters = (0..<12).map { number in
      Task { @EventLoop in
        _ = try await fixture.register(token, "fighter-\(number)", app: "com.f", now: 1000 + Int64(number))
      }
    }
    for fighter in fighters { try await fighter.value }
    // Who lost the token to a faster one may be told so a second time.
    let all = try await fixture.events(of: token).filter { $0["data"]?["reason"]?.string != RemovalCause.mismatch }
    #expect(all.count == 12)
    var owner = all.first?["data"]?["user"]?.string
    for event in all.dropFirst() {
      #expect(event["data"]?["from"]?.string == owner)
      owner = event["data"]?["to"]?.string
    }
    #expect(try await fixture.metadata(token)?.username.text == owner)
  }

  @Test func `a stream of another type costs a counter and a warning, nothing else`() async throws {
    let server = try await RedisServer()
    let fixture = try await Fixture(server: server, writesEvents: true)
    _ = try await fixture.run("SET", EventStream.key, "x")
    let token = fixture.token("events-wrong")
    _ = try await fixture.register(token, "events-w", now: 1000)
    #expect(try await fixture.metadata(token)?.username == "events-w")
    #expect(fixture.metrics.prometheusText().contains("martlet_events_refused_total 1\n"))
  }

  @Test func `without events nothing is written`() async throws {
    let fixture = try await Fixture()
    let token = fixture.token("events-off")
    _ = try await fixture.register(token, "events-none", now: 1000)
    #expect(try await fixture.events(of: token).isEmpty)
  }
}

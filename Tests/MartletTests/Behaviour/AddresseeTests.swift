import PushModel
import FleetSupport
import Foundation
import Redis
import Registry
import Testing
import TestSupport

/// The devices that a job reaches.
@Suite(.serialized) struct AddresseeTests {
  private static let shared = Task { try await Fleet() }
  private static let sharedWorker = Task { try await shared.value.worker() }

  private let fleet: Fleet
  private let worker: FleetWorker

  init() async throws {
    fleet = try await Self.shared.value
    worker = try await Self.sharedWorker.value
  }

  /// Runs a job with this `to` and returns its final record.
  private func deliver(to audience: String, _ members: String = #","title":"Hello""#) async throws -> JobRecord {
    let id = fleet.unique("audience")
    try await fleet.enqueue(#"{"id":"\#(id)","to":\#(audience)\#(members)}"#, on: worker.queue)
    return try await fleet.record(id)
  }

  @Test func `a job to hundreds of devices does not delay one to three devices`() async throws {
    try await fleet.gateway.settings(#"{"rttMs":300}"#)
    let slow = try await fleet.worker(["MARTLET_CONCURRENCY": "8"])
    let (user, big, small) = (fleet.unique("carol"), fleet.unique("big"), fleet.unique("small"))
    try await fleet.register(fleet.uniqueTokens(3), to: user)
    let tokens = fleet.uniqueTokens(900).map { "\"\($0)\"" }.joined(separator: ",")
    try await fleet.enqueue(
      #"{"id":"\#(big)","to":{"tokens":[\#(tokens)]},"title":"Hello"}"#,
      #"{"id":"\#(small)","to":{"user":"\#(user)"},"title":"Hello"}"#, on: slow.queue)
    #expect(try await fleet.record(small).accepted == 3)
    // Each of the other two pushes waits for one push of the large job, not for all.
    #expect(try await fleet.gateway.ledger().received < 500)
    #expect(try await fleet.currentRecord(big) == nil)
    try await fleet.gateway.settings(#"{"rttMs":0}"#)
    #expect(try await fleet.record(big).accepted == 900)
    #expect(try await slow.stop() == 0)
  }

  @Test func `a user with several devices is reached by a worker whose permits all wait for claims`() async throws {
    let user = fleet.unique("dora")
    try await fleet.register(fleet.uniqueTokens(3), to: user)
    let queues = (0..<8).map { _ in fleet.unique("jobs") }
    let small = try await fleet.worker([
      "MARTLET_CONCURRENCY": "8", "MARTLET_QUEUES": queues.joined(separator: ","),
    ])
    let id = fleet.unique("few")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Hello"}"#, on: queues[3])
    #expect(try await fleet.record(id).accepted == 3)
    #expect(try await small.stop() == 0)
  }

  @Test func `a device that is named twice gets the job once`() async throws {
    let (once, twice) = (fleet.uniqueToken(), fleet.uniqueToken())
    let record = try await deliver(to: #"{"tokens":["\#(twice)","\#(once)","\#(twice)"]}"#)
    #expect(record.status == "accepted")
    #expect(record.results.map(\.token) == [twice, once])
    let counts = try await fleet.gateway.counts()
    for device in record.results { #expect(counts[device.apnsId] == 1) }
  }

  private func members(of user: String) async throws -> Set<String> {
    Set(try await fleet.redis("SMEMBERS", RegistryKeys.userTokens(Username(user))).array?.compactMap(\.string) ?? [])
  }

  @Test func `a user is reached on every owned device, and other entries leave the set`() async throws {
    let user = fleet.unique("alice")
    let good = fleet.uniqueTokens(3)
    let (stale, foreign, android) = (fleet.uniqueToken(), fleet.uniqueToken(), fleet.uniqueToken())
    let (unreadable, unknown) = (fleet.uniqueToken(), fleet.uniqueToken())
    try await fleet.register(good + [stale], to: user)
    try await fleet.register([android], to: user, platform: "android")
    try await fleet.register([foreign], to: fleet.unique("bob"))
    try await fleet.redis("SET", RegistryKeys.token(entry: unreadable), "{no JSON")
    for entry in [foreign, unreadable, unknown, "no token \u{1} at all"] {
      try await fleet.redis("SADD", RegistryKeys.userTokens(Username(user)), entry)
    }
    try await fleet.gateway.device(stale, #""rule":"unregistered","since":1800000000000"#)

    let record = try await deliver(to: #"{"user":"\#(user)"}"#)

    #expect(record.status == "partial")
    #expect(record.accepted == 3)
    #expect(record.failed == 2)
    #expect(record.stale == 1)
    #expect(record.reasons == ["Unregistered": 1, "UnsupportedPlatform": 1])
    #expect(Set(record.results.map(\.token)) == Set(good + [stale, android]))
    #expect(record.device(stale)?.status == 410)
    #expect(record.device(android)?.status == 0)
    #expect(record.results.filter(\.ok).allSatisfy { good.contains($0.token) && $0.status == 200 })
    let sent = Set(try await fleet.gateway.recent().compactMap(\.token))
    #expect(sent.isDisjoint(with: [foreign, android, unreadable, unknown]))
    try await eventually("only own devices are left") { try await members(of: user) == Set(good + [android]) }
    #expect(try await fleet.redis("EXISTS", RegistryKeys.token(entry: stale)).integer == 0)
    #expect(try await fleet.redis("EXISTS", RegistryKeys.token(entry: foreign)).integer == 1)
  }

  @Test func `a username is trimmed and lower-cased`() async throws {
    let user = fleet.unique("carol")
    let token = fleet.uniqueToken()
    try await fleet.register(token, to: user)
    let record = try await deliver(to: #"{"user":"  \#(user.uppercased()) "}"#)
    #expect(record.results.map(\.token) == [token])
  }

  @Test func `a job to a user without devices ends as no_devices, and nothing is sent`() async throws {
    let before = try await fleet.gateway.ledger().received
    let record = try await deliver(to: #"{"user":"\#(fleet.unique("nobody"))"}"#)
    #expect(record.status == "no_devices")
    #expect(record.results.isEmpty)
    #expect(try await fleet.gateway.ledger().received == before)
  }

  @Test func `one device of a user is reached only if the user owns it`() async throws {
    let (user, other) = (fleet.unique("dave"), fleet.unique("erin"))
    let (own, second, foreign) = (fleet.uniqueToken(), fleet.uniqueToken(), fleet.uniqueToken())
    try await fleet.register([own, second], to: user)
    try await fleet.register(foreign, to: other)
    try await fleet.redis("SADD", RegistryKeys.userTokens(Username(user)), foreign)

    let reached = try await deliver(to: #"{"user":"\#(user)","token":"\#(own)"}"#)
    #expect(reached.status == "accepted")
    #expect(reached.results.map(\.token) == [own])

    for token in [foreign, fleet.uniqueToken()] {
      let record = try await deliver(to: #"{"user":"\#(user)","token":"\#(token)"}"#)
      #expect(record.status == "no_devices")
      #expect(record.results.isEmpty)
    }
    try await eventually("the foreign token left the set") { try await members(of: user) == [own, second] }
  }

  @Test func `a job to a token uses the app for which the token was registered`() async throws {
    let (unknown, known) = (fleet.uniqueToken(), fleet.uniqueToken())
    try await fleet.register([known], to: fleet.unique("frank"), bundleID: "com.example.other")
    for token in [unknown, known] {
      let record = try await deliver(to: #"{"token":"\#(token)"}"#)
      #expect(record.status == "accepted")
      #expect(record.results.map(\.token) == [token])
    }
    let pushes = try await fleet.gateway.recent()
    #expect(pushes.last { $0.token == unknown }?.topic == "com.example.demo")
    #expect(pushes.last { $0.token == known }?.topic == "com.example.other")
    #expect(pushes.last { $0.token == known }?.pushType == "alert")
    #expect(pushes.last { $0.token == known }?.priority == "10")
  }

  @Test func `a job to tokens is sent to each of them, regardless of its owner`() async throws {
    let tokens = fleet.uniqueTokens(150)
    try await fleet.register(Array(tokens[..<50]), to: fleet.unique("grace"))
    try await fleet.gateway.device(tokens[7], #""rule":"bad""#)
    let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    let record = try await deliver(to: #"{"tokens":[\#(list)]}"#)
    #expect(record.status == "partial")
    #expect(record.accepted == 149)
    #expect(record.failed == 1)
    #expect(record.reasons == ["BadDeviceToken": 1])
    #expect(record.results.count == 100)
    let counts = try await fleet.gateway.counts()
    #expect(record.results.allSatisfy { counts[$0.apnsId] == 1 })
  }

  @Test func `two jobs of the same bytes without an id are both sent, under different apns-ids`() async throws {
    let token = fleet.uniqueToken()
    let job = #"{"to":{"token":"\#(token)"},"title":"Twins"}"#
    try await fleet.enqueue([Array(job.utf8), Array(job.utf8), Array(job.utf8)], on: worker.queue)
    try await fleet.settled(worker.queue)
    let pushes = try await fleet.gateway.recent().filter { $0.token == token }
    #expect(pushes.count == 3)
    #expect(Set(pushes.map(\.apnsId)).count == 3)
  }
}

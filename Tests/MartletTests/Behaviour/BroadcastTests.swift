import FleetSupport
import Foundation
import Jobs
import PushModel
import Redis
import Registry
import Testing
import TestSupport
@testable import Queue

/// Broadcasts to the audience of an app.
@Suite(.serialized) struct BroadcastTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  @Test func `each device of an audience of several pages is reached once, with exact counts`() async throws {
    let app = "com.example.\(fleet.unique("news"))"
    let tokens = fleet.uniqueTokens(1300)
    try await fleet.register(tokens, to: fleet.unique("readers"), bundleID: app)
    try await fleet.gateway.device(tokens[3], #""rule":"unregistered","since":1800000000000"#)
    let worker = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.status == "partial")
    #expect(record.accepted == 1299)
    #expect(record.failed == 1)
    #expect(record.stale == 1)
    #expect(record.results.count == 100)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.received == 1300)
    #expect(ledger.duplicates == 0)
    #expect(try await worker.stop() == 0)
    #expect(try await fleet.redis("KEYS", "martlet:*progress*").array == [])
  }

  @Test func `an anonymous device is reached, and removed when it is stale`() async throws {
    let app = "com.example.\(fleet.unique("anonymous"))"
    let (live, stale) = (fleet.uniqueToken(), fleet.uniqueToken())
    try await fleet.register([live, stale], to: "", bundleID: app)
    try await fleet.gateway.device(stale, #""rule":"unregistered","since":1800000000000"#)
    let worker = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.accepted == 1)
    #expect(record.stale == 1)
    try await eventually("the stale device is removed") {
      try await fleet.redis("EXISTS", RegistryKeys.token(entry: stale)).integer == 0
    }
    for (token, isLeft) in [(live, true), (stale, false)] {
      let key = RegistryKeys.audience(app, shard: AudienceShard.shard(of: token))
      #expect(try await fleet.redis("ZSCORE", key, token).isNull != isLeft)
    }
    #expect(try await worker.stop() == 0)
  }

  @Test func `another worker continues the broadcast of a killed one and reaches every device`() async throws {
    let app = "com.example.\(fleet.unique("news"))"
    let tokens = fleet.uniqueTokens(2600)
    try await fleet.register(tokens, to: fleet.unique("readers"), bundleID: app)
    try await fleet.gateway.settings(#"{"rttMs":200,"maxStreams":60}"#)
    let first = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: first.queue)
    try await eventually("a page is committed and the next is in flight") {
      let accepted = try await fleet.gateway.ledger().accepted
      let progress = try await fleet.redis("KEYS", "martlet:{\(first.queue)}:progress:*").array
      return accepted > 900 && progress != []
    }
    try await first.kill()
    let before = try await fleet.gateway.ledger().distinct
    #expect(before < 2600)
    let lists = try await fleet.redis("KEYS", "martlet:{\(first.queue)}:progress:*:list").array ?? []
    let list = try await fleet.redis("GET", try #require(lists.first?.string)).bytes
    let listed = try #require(list.flatMap(JobResult.init(parsing:))).results.map(\.token.text)
    try await fleet.gateway.settings(#"{"rttMs":0,"maxStreams":1000}"#)
    let second = try await fleet.worker(on: first.queue)
    let record = try await fleet.record(id)
    #expect(record.status == "accepted")
    #expect(record.accepted == 2600)
    #expect(record.failed == 0)
    #expect(record.uncertain == 0)
    #expect(listed.count == 100)
    #expect(record.results.map(\.token) == listed)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.distinct == 2600)
    // Only pages that were not committed are sent again, under the same apns-ids.
    #expect(ledger.duplicates <= 3 * 500)
    #expect(ledger.accepted == 2600 + ledger.duplicates)
    #expect(try await second.stop() == 0)
  }

  @Test func `only the devices left open are tried again`() async throws {
    let app = "com.example.\(fleet.unique("news"))"
    let tokens = fleet.uniqueTokens(700)
    try await fleet.register(tokens, to: fleet.unique("readers"), bundleID: app)
    for token in tokens[..<5] { try await fleet.gateway.device(token, #""rule":"fixed","status":503"#) }
    let worker = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: worker.queue)
    let first = try await fleet.record(id, "postponed") { $0.status == "retrying" }
    #expect(first.accepted == 695)
    try await fleet.gateway.clearDevices()
    let record = try await fleet.record(id)
    #expect(record.status == "accepted")
    #expect(record.accepted == 700)
    #expect(record.attempts >= 2)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.accepted == 700)
    #expect(ledger.distinct == 700)
    #expect(ledger.received == 700 + 5 * (record.attempts - 1))
    #expect(try await worker.stop() == 0)
  }

  @Test func `a broadcast whose last page was committed before the crash sends nothing more`() async throws {
    let app = "com.example.\(fleet.unique("news"))"
    try await fleet.register(fleet.uniqueTokens(20), to: fleet.unique("readers"), bundleID: app)
    let (id, queue, nonce) = (fleet.unique("broadcast"), fleet.unique("jobs"), fleet.unique("nonce"))
    var state = AttemptState()
    state.cursor = "~"
    state.open = []
    var result = JobResult(id: id, status: .retrying, worker: "gone", claimedAt: 1)
    for token in fleet.uniqueTokens(20) {
      result.add(DeviceResult(token: DeviceToken(token), ok: true, status: 200, apnsID: "", reason: nil), as: .accepted)
    }
    state.result = result
    try await fleet.redis(
      "SET", QueueKeys(queue: queue).progress(nonce), "~\n" + String(decoding: state.json(), as: UTF8.self))
    let job = Array(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#.utf8)
    try await fleet.enqueue(Envelope(crashes: 1, nonce: nonce, job: job), on: queue)
    let worker = try await fleet.worker(on: queue)
    let record = try await fleet.record(id)
    #expect(record.status == "accepted")
    #expect(record.accepted == 20)
    // An earlier version wrote the list of devices with the rest.
    #expect(record.results.count == 20)
    #expect(try await fleet.gateway.ledger().received == 0)
    try await worker.stop()
  }

  @Test func `only a device left uncertain is sent to again`() async throws {
    let app = "com.example.\(fleet.unique("news"))"
    try await fleet.register(fleet.uniqueTokens(20), to: fleet.unique("readers"), bundleID: app)
    try await fleet.gateway.fault(#"{"kind":"reset","code":2,"processed":true,"after":9,"count":1}"#)
    let worker = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.status == "accepted")
    #expect(record.accepted == 20)
    #expect(record.uncertain == 1)
    #expect(record.attempts == 2)
    #expect(record.results.count == 20)
    #expect(record.results.allSatisfy { $0.ok })
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.received == 21)
    #expect(ledger.distinct == 20)
    #expect(try await fleet.deadLetters(worker.queue).isEmpty)
    try await worker.stop()
  }

  @Test func `at most once, a broadcast whose worker was killed continues only when it is requeued`() async throws {
    let app = "com.example.\(fleet.unique("news"))"
    try await fleet.register(fleet.uniqueTokens(2600), to: fleet.unique("readers"), bundleID: app)
    try await fleet.gateway.settings(#"{"rttMs":200,"maxStreams":60}"#)
    let first = try await fleet.worker()
    let (id, queue) = (fleet.unique("broadcast"), first.queue)
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News","atMostOnce":true}"#, on: queue)
    try await eventually("a page is committed and the next is in flight") {
      let accepted = try await fleet.gateway.ledger().accepted
      let progress = try await fleet.redis("KEYS", "martlet:{\(queue)}:progress:*").array
      return accepted > 900 && progress != []
    }
    try await first.kill()
    try await fleet.forgetHeartbeat(of: first)
    try await fleet.gateway.settings(#"{"rttMs":0,"maxStreams":1000}"#)
    let before = try await fleet.gateway.ledger()
    let second = try await fleet.worker(on: queue)
    let buried = try await fleet.record(id)
    #expect(buried.status == "partial")
    #expect(buried.reason?.hasPrefix("Uncertain") == true)
    #expect((500..<2600).contains(buried.accepted))
    #expect(try await fleet.gateway.ledger().received == before.received)
    #expect(try await fleet.redis("KEYS", "martlet:*progress*").array == [])
    let requeue = try await fleet.martlet("dead", "requeue", id, environment: ["MARTLET_QUEUES": queue])
    #expect(requeue.lines == ["requeued 1"])
    let record = try await fleet.record(id, "its end") { $0.status == "accepted" }
    #expect(record.accepted == 2600)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.distinct == 2600)
    #expect(ledger.received - before.received == 2600 - buried.accepted)
    #expect(try await second.stop() == 0)
  }

  @Test func `at most once, only a device left uncertain is sent to again, when the broadcast is requeued`()
    async throws
  {
    let app = "com.example.\(fleet.unique("news"))"
    try await fleet.register(fleet.uniqueTokens(20), to: fleet.unique("readers"), bundleID: app)
    try await fleet.gateway.fault(#"{"kind":"reset","code":2,"processed":true,"after":9,"count":1}"#)
    let worker = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News","atMostOnce":true}"#, on: worker.queue)
    let uncertain = try await fleet.record(id)
    #expect(uncertain.status == "partial")
    #expect(uncertain.accepted == 19)
    #expect(uncertain.uncertain == 1)
    let requeue = try await fleet.martlet("dead", "requeue", id, environment: ["MARTLET_QUEUES": worker.queue])
    #expect(requeue.lines == ["requeued 1"])
    let record = try await fleet.record(id, "all accepted") { $0.status == "accepted" }
    #expect(record.accepted == 20)
    // The number of unanswered pushes.
    #expect(record.uncertain == 1)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.received == 21)
    #expect(ledger.distinct == 20)
    try await worker.stop()
  }

  @Test func `few broadcasts of an app run at once, all arrive, and other apps do not wait`() async throws {
    let (app, other) = ("com.example.\(fleet.unique("crowd"))", "com.example.\(fleet.unique("other"))")
    try await fleet.register(fleet.uniqueTokens(600), to: fleet.unique("readers"), bundleID: app)
    try await fleet.register(fleet.uniqueTokens(1), to: fleet.unique("reader"), bundleID: other)
    let ids = (0..<12).map { _ in fleet.unique("broadcast") }
    try await fleet.gateway.settings(#"{"rttMs":100}"#)
    let worker = try await fleet.worker(["MARTLET_CONCURRENCY": "32"])
    for id in ids {
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: worker.queue)
    }
    let late = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(late)","to":{"app":"\#(other)"},"title":"News"}"#, on: worker.queue)
    #expect(try await fleet.record(ids[0]).accepted == 600)
    // If all ran at once, the first would end when nearly everything has been sent.
    #expect(try await fleet.gateway.ledger().received < 6 * 600)
    try await fleet.gateway.settings(#"{"rttMs":0}"#)
    #expect(try await fleet.record(late).accepted == 1)
    for id in ids { #expect(try await fleet.record(id).accepted == 600) }
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.received == 12 * 600 + 1)
    #expect(ledger.duplicates == 0)
    #expect(try await worker.stop() == 0)
    #expect(try await fleet.redis("KEYS", "martlet:*progress*").array == [])
  }

  @Test func `broadcasts that wait for their turn are handed back unchanged`() async throws {
    let app = "com.example.\(fleet.unique("handed"))"
    try await fleet.register(fleet.uniqueTokens(3000), to: fleet.unique("readers"), bundleID: app)
    try await fleet.gateway.settings(#"{"rttMs":50}"#)
    let ids = (0..<8).map { _ in fleet.unique("broadcast") }
    let first = try await fleet.worker(["MARTLET_CONCURRENCY": "64"])
    for id in ids {
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: first.queue)
    }
    try await eventually("the first are in flight") { try await fleet.gateway.ledger().accepted > 300 }
    #expect(try await first.stop() == 0)
    #expect(try await fleet.gateway.ledger().accepted < 8 * 3000)
    try await fleet.gateway.settings(#"{"rttMs":0}"#)
    let second = try await fleet.worker(on: first.queue)
    for id in ids { #expect(try await fleet.record(id).accepted == 3000) }
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.accepted == 8 * 3000)
    #expect(ledger.duplicates == 0)
    #expect(try await second.stop() == 0)
  }

  @Test func `a broadcast to an app without devices ends as no_devices`() async throws {
    let worker = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"com.example.nobody"},"title":"News"}"#, on: worker.queue)
    #expect(try await fleet.record(id).status == "no_devices")
    #expect(try await fleet.gateway.ledger().received == 0)
    try await worker.stop()
  }

  @Test func `a backlog of broadcasts is claimed in parts and sent completely`() async throws {
    let app = "com.example.\(fleet.unique("backlog"))"
    try await fleet.register(fleet.uniqueTokens(3), to: fleet.unique("reader"), bundleID: app)
    let worker = try await fleet.worker(["MARTLET_LOG": "info"])
    let ids = (0..<40).map { _ in fleet.unique("news") }
    try await fleet.enqueue(
      ids.map { Array(#"{"id":"\#($0)","to":{"app":"\#(app)"},"title":"News"}"#.utf8) }, on: worker.queue)
    for id in ids {
      let record = try await fleet.record(id)
      #expect(record.status == "accepted")
      #expect(record.accepted == 3)
      #expect(record.attempts == 1)
    }
    #expect(try await worker.stop() == 0)
  }
}

import Foundation
import Jobs
import Redis
import Registry
import TestSupport
import Testing

/// Everyone who is registered for an app.
@Suite(.serialized) struct BroadcastTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  @Test func `an audience of several pages is reached once each, and the counts are exact`() async throws {
    let app = "com.example.\(fleet.unique("news"))"
    let tokens = fleet.uniqueTokens(1300)
    try await fleet.register(tokens, to: fleet.unique("readers"), bundleID: app)
    try await fleet.gateway.device(tokens[3], #""rule":"unregistered","since":1800000000000"#)
    let worker = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: worker.queue)
    let record = try await fleet.record(id, within: .seconds(60))
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

  @Test func `when its worker is killed midway another goes on, and every device is reached`() async throws {
    let app = "com.example.\(fleet.unique("news"))"
    let tokens = fleet.uniqueTokens(2600)
    try await fleet.register(tokens, to: fleet.unique("readers"), bundleID: app)
    try await fleet.gateway.settings(#"{"rttMs":50,"maxStreams":60}"#)
    let first = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"\#(app)"},"title":"News"}"#, on: first.queue)
    try await eventually(within: .seconds(60), "a page is committed and the next is under way") {
      let accepted = try await fleet.gateway.ledger().accepted
      let progress = try await fleet.redis("KEYS", "martlet:{\(first.queue)}:progress:*").array
      return accepted > 900 && progress != []
    }
    try await first.kill()
    let before = try await fleet.gateway.ledger().distinct
    #expect(before < 2600)
    try await fleet.gateway.settings(#"{"rttMs":0,"maxStreams":1000}"#)
    let second = try await fleet.worker(on: first.queue)
    let record = try await fleet.record(id, within: .seconds(60))
    #expect(record.status == "accepted")
    #expect(record.accepted == 2600)
    #expect(record.failed == 0)
    #expect(record.uncertain == 0)
    let ledger = try await fleet.gateway.ledger()
    #expect(ledger.distinct == 2600)
    // Pages are committed whole: at most those under way are sent again, under the same apns-ids.
    #expect(ledger.duplicates <= 3 * 500)
    #expect(ledger.accepted == 2600 + ledger.duplicates)
    #expect(try await second.stop() == 0)
  }

  @Test func `an app that nobody is registered for has no devices`() async throws {
    let worker = try await fleet.worker()
    let id = fleet.unique("broadcast")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"app":"com.example.nobody"},"title":"News"}"#, on: worker.queue)
    #expect(try await fleet.record(id).status == "no_devices")
    #expect(try await fleet.gateway.ledger().received == 0)
    try await worker.stop()
  }
}

import PushModel
import FleetSupport
import Foundation
import Jobs
import Redis
import Registry
import Testing
import TestSupport

/// A worker with the alternative setting names of docs/settings.md.
@Suite(.serialized) struct ClaudiatorTests {
  private static let shared = Task { try await Fleet() }
  private static let sharedWorker = Task {
    let ready = try await shared.value.gateway.ready
    return try await shared.value.worker([
      "APNS_KEY_ID": nil, "APNS_TEAM_ID": nil, "APNS_KEY_PATH": nil, "APNS_BUNDLE_ID": nil,
      "CLAUDIATOR_APNS_KEY_ID": ready.keyId, "CLAUDIATOR_APNS_TEAM_ID": ready.teamId,
      "CLAUDIATOR_APNS_KEY_PATH": ready.keyPath, "CLAUDIATOR_APNS_SANDBOX": "true",
    ])
  }
  private let fleet: Fleet
  private let worker: FleetWorker

  init() async throws {
    fleet = try await Self.shared.value
    worker = try await Self.sharedWorker.value
    try await fleet.gateway.reset()
  }

  private let notification = "7d9f1c52-0f0e-4a63-9c58-0f6a2b8f3c11"

  /// A job of such a server.
  private func deliver(to user: String) async throws -> JobRecord {
    let id = fleet.unique("claudiator")
    let job = """
      {"id":"\(id)","to":{"user":"\(user)"},"title":"T","body":"B","sound":"default","collapseId":"\(notification)",\
      "data":{"notification_id":"\(notification)","session_id":"abc123","device_id":"d1"}}
      """
    try await fleet.enqueue(job, on: worker.queue)
    return try await fleet.record(id)
  }

  private func user(owning token: String) async throws -> String {
    let user = fleet.unique("claudiator")
    try await fleet.register(token, to: user)
    return user
  }

  @Test func `the push has the document's headers and body`() async throws {
    let token = fleet.uniqueToken()
    #expect(try await deliver(to: user(owning: token)).status == "accepted")
    let push = try #require(try await fleet.gateway.recent().last { $0.token == token })
    #expect(push.topic == "com.claudiator.app")
    #expect(push.pushType == "alert")
    #expect(push.priority == "10")
    #expect(push.collapseId == notification)
    let body = """
      {"aps":{"alert":{"title":"T","body":"B"},"sound":"default"},"notification_id":"\(notification)",\
      "session_id":"abc123","device_id":"d1"}
      """
    #expect(push.payloadBytes == body.utf8.count)
  }

  @Test func `on 403 the provider token is renewed and the push tried once more`() async throws {
    try await fleet.gateway.fault(#"{"kind":"status","status":403,"reason":"ExpiredProviderToken","count":1}"#)
    let token = fleet.uniqueToken()
    let record = try await deliver(to: user(owning: token))
    #expect(record.status == "accepted")
    #expect(record.attempts == 1)
    let pushes = try await fleet.gateway.recent().filter { $0.token == token }
    #expect(pushes.map(\.status) == [403, 200])
    #expect(Set(pushes.map(\.apnsId)).count == 1)
    #expect(try await worker.lines(with: "\"generation\":2").contains { $0.contains("provider token minted") })
  }

  @Test func `on 410 the token is deleted`() async throws {
    let token = fleet.uniqueToken()
    let user = try await user(owning: token)
    try await fleet.gateway.device(token, #""rule":"unregistered""#)
    let record = try await deliver(to: user)
    #expect(record.reasons == ["Unregistered": 1])
    try await eventually("the token is gone") {
      try await fleet.redis("EXISTS", RegistryKeys.token(entry: token)).integer == 0
    }
    #expect(try await fleet.redis("EXISTS", RegistryKeys.userTokens(Username(user))).integer == 0)
  }

  @Test func `on 400 the push is skipped and not repeated`() async throws {
    let token = fleet.uniqueToken()
    try await fleet.gateway.device(token, #""rule":"fixed","status":400,"reason":"BadCollapseId""#)
    let record = try await deliver(to: user(owning: token))
    #expect(record.status == "dead")
    #expect(record.attempts == 1)
    #expect(try await fleet.gateway.ledger().received == 1)
  }

  @Test(arguments: [429, 503])
  func `on 429 and 503 the push is retried and arrives later`(status: Int) async throws {
    let token = fleet.uniqueToken()
    try await fleet.gateway.fault(#"{"kind":"status","status":\#(status),"retryAfter":1,"count":1}"#)
    let record = try await deliver(to: user(owning: token))
    #expect(record.status == "accepted")
    #expect(record.attempts == 2)
    #expect(try await fleet.gateway.recent().map(\.status) == [status, 200])
  }

  @Test func `without a key the worker runs in polling-only mode`() async throws {
    let polling = try await fleet.worker(["CLAUDIATOR_APNS_SANDBOX": "false"], isPollingOnly: true)
    let id = fleet.unique("claudiator")
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"user":"\#(fleet.unique("nobody"))"},"title":"T"}"#, on: polling.queue)
    #expect(try await fleet.record(id).status == "unsent")
    #expect(polling.process.lines.filter { $0.contains("APNs not configured: polling-only mode") }.count == 1)
    try await polling.stop()
  }
}

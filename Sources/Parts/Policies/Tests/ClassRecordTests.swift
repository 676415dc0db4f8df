import FleetSupport
import Foundation
import Jobs
import JSON
import Redis
import Registry
import Testing
import TestSupport

@testable import Credentials
@testable import Queue

/// Records for instances that poll.
@Suite(.serialized) struct ClassRecordTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
    try await fleet.gateway.reset()
  }

  @Test func `the record of an instance has the payload of its class`() async throws {
    let instance = fleet.unique("instance")
    try await fleet.register(instance: instance)
    let worker = try await fleet.worker(isPollingOnly: true)
    let id = try await fleet.deliver("attention_ping", to: instance, on: worker.queue).id
    let entries = try await fleet.redis("XRANGE", QueueKeys.instanceNotifications(instance), "-", "+").array ?? []
    let record = try #require(entries.first?.array?.last?.array?.last?.bytes)
    let json = try JSONValue(parsing: record)
    #expect(entries.count == 1)
    #expect(json["id"]?.string == id)
    #expect(json["status"]?.string == "unsent")
    let payload = try #require(json["payload"])
    #expect(payload["nyra"]?["hint"]?.string == "poll")
    #expect(payload["nyra"]?["instance_id"]?.string == instance)
    #expect(try await fleet.redis("TTL", QueueKeys.instanceNotifications(instance)).integer ?? 0 > 29 * 86_400)
    try await worker.stop()
  }

  @Test(arguments: [true, false])
  func `records are kept only for instances that can poll`(isPollingOnly: Bool) async throws {
    let worker = try await fleet.worker(isPollingOnly: isPollingOnly)
    let instances = ["device", "credential", "nothing"].map { fleet.unique($0) }
    let device = try await fleet.register(instance: instances[0])
    try await fleet.gateway.device(device, #""rule":"bad""#)
    try await fleet.redis("HSET", CredentialKeys.credentials(.instance), instances[1], "{}")
    for (instance, isKept) in zip(instances, [true, true, false]) {
      _ = try await fleet.deliver("safety_critical", to: instance, on: worker.queue)
      let key = QueueKeys.instanceNotifications(instance)
      #expect(try await fleet.redis("EXISTS", key) == .integer(isKept ? 1 : 0), "\(instance)")
    }
    try await worker.stop()
  }
}

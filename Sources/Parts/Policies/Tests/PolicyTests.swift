import FleetSupport
import Foundation
import Jobs
import PushModel
import Redis
import Registry
import Testing
import TestSupport
@testable import Queue
@testable import Policies

/// Jobs with a notification class in a worker.
@Suite(.serialized) struct PolicyTests {
  private static let shared = Task { try await Fleet() }
  private static let sharedWorker = Task { try await shared.value.worker() }
  private let fleet: Fleet
  private let worker: FleetWorker
  private let instance: String

  init() async throws {
    fleet = try await Self.shared.value
    worker = try await Self.sharedWorker.value
    instance = fleet.unique("instance")
    try await fleet.gateway.reset()
  }

  private func deliver(_ className: String, _ members: String = "") async throws -> JobRecord {
    try await fleet.deliver(className, to: instance, members, on: worker.queue)
  }

  @Test func `a job with a class is sent to the instance's device and remembered by its nonce`() async throws {
    let token = try await fleet.register(instance: instance)
    let record = try await deliver("attention_ping", #","preview":"A new update is available.""#)
    #expect(record.status == "accepted")
    let push = try #require(try await fleet.gateway.recent().last { $0.token == token })
    #expect(push.pushType == "alert")
    #expect(push.priority == "5")
    let payload =
      #"{"aps":{"alert":{"title":"Nyra","body":"A new update is available."},"badge":1,"sound":"default","#
      + #""content-available":1},"nyra":{"class":"attention_ping","instance_id":"\#(instance)","hint":"poll"}}"#
    #expect(push.payloadBytes == payload.utf8.count)
    let state = try #require(try await fleet.policyState(of: instance))
    #expect(state.grants.map(\.className) == ["attention_ping"])
    let left = try await fleet.redis("TTL", PolicyKeys.state("nyra", instance: instance)).integer ?? 0
    #expect((86_300...86_400).contains(left))
  }

  @Test func `a suppressed job is recorded with its reason, counted and logged`() async throws {
    try await fleet.register(instance: instance)
    let collapsed = try await worker.metric(#"martlet_policy_decisions_total{decision="collapsed"}"#) ?? 0
    #expect(try await deliver("attention_ping").status == "accepted")
    let list = fleet.unique("reply")
    let second = try await deliver("message_delivered", #","replyTo":"\#(list)""#)
    #expect(second.status == "suppressed")
    #expect(second.reason == "collapsed")
    #expect(second.results == [])
    #expect(try await fleet.redis("LLEN", list).integer == 1)
    #expect(try await deliver("safety_critical").status == "accepted")
    #expect(try await deliver("safety_critical").reason == "spacing")
    #expect(try await deliver("action_needed").status == "accepted")
    #expect(try await deliver("action_needed").reason == "limit")
    #expect(try await fleet.gateway.ledger().received == 3)
    #expect(try await worker.metric(#"martlet_policy_decisions_total{decision="collapsed"}"#) == collapsed + 1)
    #expect(worker.process.lines.contains { $0.contains(second.id) && $0.contains("policy suppressed") })
  }

  @Test func `another instance has limits of its own`() async throws {
    try await fleet.register(instance: instance)
    let other = fleet.unique("instance")
    try await fleet.register(instance: other)
    #expect(try await deliver("attention_ping").status == "accepted")
    #expect(try await fleet.deliver("attention_ping", to: other, on: worker.queue).status == "accepted")
  }

  @Test func `a job to an instance without a device is not counted`() async throws {
    #expect(try await deliver("attention_ping").status == "no_devices")
    #expect(try await fleet.policyState(of: instance) == nil)
  }

  @Test func `an expired job is not counted`() async throws {
    try await fleet.register(instance: instance)
    #expect(try await deliver("attention_ping", #","expiration":1700000000"#).status == "expired")
    #expect(try await fleet.policyState(of: instance) == nil)
  }

  @Test func `in polling-only mode nothing is counted`() async throws {
    let polling = try await fleet.worker(isPollingOnly: true)
    try await fleet.register(instance: instance)
    #expect(try await fleet.deliver("attention_ping", to: instance, on: polling.queue).status == "unsent")
    #expect(try await fleet.policyState(of: instance) == nil)
    try await polling.stop()
  }

  @Test(
    arguments: [
      (#""class":"attention_ping","preview":"Please don’t ignore me.""#, #"tone: "not ignore" is guilt"#),
      (#""class":"attention_ping","preview":"You need to respond now.""#, "urgency inflation"),
      (#""class":"ping""#, #"class: no policy has a class "ping""#),
      (#""title":"Respond now""#, "class: missing"),
      (#""payload":{"aps":{"alert":"Respond now"}}"#, "class: missing"),
    ])
  func `a job with a refused tone, an unknown class or no class is buried byte for byte`(
    members: String, reason: String
  )
    async throws
  {
    try await fleet.register(instance: instance)
    let id = fleet.unique("tone")
    let job = #"{"id":"\#(id)","to":{"instance":"\#(instance)"},\#(members)}"#
    try await fleet.enqueue(job, on: worker.queue)
    let record = try await fleet.record(id)
    #expect(record.status == "dead")
    #expect(record.reason?.contains(reason) == true, "\(record.reason ?? "")")
    let letter = try #require(try await fleet.deadLetters(worker.queue).first { $0.id == id })
    #expect(letter.envelope.job == Array(job.utf8))
    #expect(try await fleet.policyState(of: instance) == nil)
  }

  @Test(arguments: [#""rule":"unregistered","since":1700000000001"#, #""rule":"bad""#])
  func `a stale token makes the instance inactive until it registers again`(rule: String) async throws {
    let token = try await fleet.register(instance: instance)
    try await fleet.gateway.device(token, rule)
    let first = try await deliver("action_needed")
    #expect(first.status == "failed")
    #expect(first.stale == 1)
    try await eventually("the record is inactive") { try await fleet.instanceRecord(instance)?.isActive == false }
    #expect(try await fleet.instanceRecord(instance)?.token.text == token)
    #expect(try await deliver("action_needed").status == "no_devices")
    try await fleet.register(instance: instance)
    #expect(try await deliver("action_needed").status == "accepted")
  }

  @Test func `a token that was registered after APNs' timestamp stays active`() async throws {
    let token = try await fleet.register(instance: instance, updatedAt: 1_700_000_000_002)
    try await fleet.gateway.device(token, #""rule":"unregistered","since":1700000000001"#)
    #expect(try await deliver("action_needed").status == "failed")
    try await fleet.settled(worker.queue)
    #expect(try await fleet.instanceRecord(instance)?.isActive == true)
  }

  @Test func `attempts are at least a minute apart and use the instance's current device`() async throws {
    let token = try await fleet.register(instance: instance)
    try await fleet.gateway.device(token, #""rule":"fixed","status":503"#)
    let id = try await fleet.enqueue("action_needed", to: instance, on: worker.queue)
    let record = try await fleet.record(id, "postponed") { $0.status == "retrying" }
    let keys = QueueKeys(queue: worker.queue)
    let entry = try #require(try await fleet.redis("ZRANGE", keys.retry, "0", "-1", "WITHSCORES").array)
    let due = try #require(Int64(entry.last?.string ?? ""))
    #expect(due >= record.finishedAt + 59_000)
    let replacement = try await fleet.register(instance: instance)
    try await fleet.redis("ZADD", keys.retry, "XX", "0", entry[0].string ?? "")
    #expect(try await fleet.record(id).device(replacement)?.ok == true)
    #expect(try await fleet.policyState(of: instance)?.grants.count == 1)
  }

  @Test func `a state key of another type delays only its own instance's job`() async throws {
    try await fleet.register(instance: instance)
    try await fleet.redis("LPUSH", PolicyKeys.state("nyra", instance: instance), "x")
    let id = try await fleet.enqueue("action_needed", to: instance, on: worker.queue)
    #expect(try await fleet.record(id, "postponed") { $0.status == "retrying" }.reason?.contains("WRONGTYPE") == true)
    try await fleet.redis("DEL", QueueKeys(queue: worker.queue).retry)
  }
}

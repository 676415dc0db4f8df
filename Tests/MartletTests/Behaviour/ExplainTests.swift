import EventLoop
import FleetSupport
import Foundation
import Jobs
import PushModel
import Redis
import Registry
import Testing
import TestSupport
@testable import Operations
@testable import Queue

/// `martlet explain`, over a worker, Redis and a simulated gateway.
@Suite(.serialized) struct ExplainTests {
  private static let shared = Task { try await Fleet() }
  private static let sharedWorker = Task { try await shared.value.worker(["MARTLET_MAX_ATTEMPTS": "2"]) }
  private let fleet: Fleet
  private let worker: FleetWorker
  private let queue: String

  init() async throws {
    fleet = try await Self.shared.value
    worker = try await Self.sharedWorker.value
    queue = worker.queue
    try await fleet.gateway.reset()
  }

  /// What `--json` prints.
  private struct Explanation: Decodable {
    struct Step: Decodable {
      let at: Int64?
      let kind: String
      let sentence: String
    }

    let id: String
    let state: String
    let status: String?
    let outcome: String
    let steps: [Step]
    let next: Step?
    let advice: String?

    var sentences: [String] { steps.map(\.sentence) }
  }

  private struct Addressee: Decodable {
    struct Finding: Decodable {
      let severity: String
      let sentence: String
      let since: Int64?
      let advice: String?
    }

    let subject: String
    let reachable: Bool
    let outcome: String
    let findings: [Finding]

    func sentences(_ severity: String) -> [String] { findings.filter { $0.severity == severity }.map(\.sentence) }
  }

  private func run(_ words: [String], on queue: String? = nil) async throws -> ChildProcess {
    try await fleet.martlet(["explain"] + words, environment: ["MARTLET_QUEUES": queue ?? self.queue, "TZ": "UTC"])
  }

  private func explain(_ id: String, on queue: String? = nil) async throws -> Explanation {
    let child = try await run([id, "--json"], on: queue)
    #expect(child.exitCode == 0)
    return try JSONDecoder().decode(Explanation.self, from: Data((child.lines.first ?? "").utf8))
  }

  private func explain(_ option: String, _ name: String, exitCode: Int32 = 0) async throws -> Addressee {
    let child = try await run([option, name, "--json"])
    #expect(child.exitCode == exitCode)
    return try JSONDecoder().decode(Addressee.self, from: Data((child.lines.first ?? "").utf8))
  }

  /// Enqueues a job, waits for its end and explains it.
  private func delivered(_ to: String, _ members: String = "") async throws -> Explanation {
    let id = fleet.unique("explain")
    try await fleet.enqueue(#"{"id":"\#(id)","to":\#(to),"title":"Hello"\#(members)}"#, on: queue)
    _ = try await fleet.record(id)
    return try await explain(id)
  }

  private func user(_ tokens: [String], bundleID: String? = nil) async throws -> String {
    let name = fleet.unique("user")
    try await fleet.register(tokens, to: name, bundleID: bundleID)
    return name
  }

  // MARK: - Jobs that have ended

  @Test func `an accepted job has no history and is explained all the same`() async throws {
    let name = try await user([fleet.uniqueToken()])
    let explanation = try await delivered(#"{"user":"\#(name)"}"#)
    #expect(explanation.state == "ended")
    #expect(
      explanation.outcome
        == "APNs accepted it for 1 device. If an accepted push is not shown, see docs/after-apns.md.")
    #expect(explanation.sentences.first?.hasPrefix("Worker ") == true)
    let record = try await fleet.redis("GET", QueueKeys.result(explanation.id)).string ?? ""
    #expect(!record.contains("history"))
  }

  @Test func `a device that APNs calls unregistered is explained by job, by token and by user`() async throws {
    let tokens = fleet.uniqueTokens(2)
    let name = try await user(tokens)
    try await fleet.gateway.device(tokens[0], #""rule":"unregistered","since":1700000000001"#)
    let explanation = try await delivered(#"{"user":"\#(name)"}"#)
    #expect(explanation.status == "partial")
    #expect(explanation.outcome.hasPrefix("APNs accepted it for 1 of 2 devices; 1 did not get it: Unregistered. If "))
    #expect(
      explanation.sentences.dropFirst() == [
        "The addressee has 2 devices.", "APNs accepted it for 1 device; 1 device did not get it: Unregistered.",
        "The end was recorded: partial.",
      ])
    #expect(explanation.steps.allSatisfy { $0.at != nil })
    let short = "\(tokens[0].prefix(8))…"
    try await eventually("the device is removed") {
      try await fleet.redis("EXISTS", RegistryKeys.token(entry: tokens[0])).integer == 0
    }
    let token = try await explain("--token", tokens[0])
    #expect(!token.reachable)
    #expect(token.outcome == "No push reaches token \(short). Device \(short) is not registered now.")
    #expect(token.sentences("problem").last?.hasPrefix("APNs refused device \(short) with Unregistered (410, ") == true)
    #expect(token.sentences("problem").last?.contains("job \(explanation.id)") == true)
    let owner = try await explain("--user", name.uppercased())
    #expect(owner.reachable)
    #expect(owner.outcome == "As far as Martlet knows, pushes reach all devices of user \(name) (1).")
    #expect(
      (1...259_200).contains(try await fleet.redis("TTL", RegistryKeys.refusal(DeviceToken(tokens[0]))).integer ?? 0))
  }

  @Test func `a retry tells each attempt`() async throws {
    try await fleet.gateway.fault(#"{"kind":"status","status":503,"count":1}"#)
    let token = fleet.uniqueToken()
    let explanation = try await delivered(#"{"token":"\#(token)"}"#)
    #expect(explanation.status == "accepted")
    let sentences = explanation.sentences
    let short = "\(token.prefix(8))…"
    #expect(sentences.contains { $0.hasPrefix("Device \(short) could not be reached for now: ") })
    #expect(sentences.contains { $0.hasPrefix("Attempt 2 was planned for ") })
    #expect(sentences.contains { $0.hasSuffix("claimed it for attempt 2.") })
    #expect(sentences.suffix(2) == ["APNs accepted it for device \(short).", "The end was recorded: accepted."])
  }

  @Test func `a job whose worker was killed tells that another took it over`() async throws {
    try await fleet.gateway.fault(#"{"kind":"stall","processed":true}"#)
    let queue = fleet.unique("jobs")
    let victim = try await fleet.worker(on: queue)
    let id = fleet.unique("explain")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"T"}"#, on: queue)
    try await eventually("the push is in flight") { try await fleet.gateway.ledger().accepted == 1 }
    #expect(try await explain(id, on: queue).state == "in_flight")
    try await victim.kill()
    try await fleet.forgetHeartbeat(of: victim)
    let orphan = try await explain(id, on: queue)
    #expect(orphan.outcome.hasSuffix(", which died."))
    #expect(orphan.next?.sentence == "Another worker takes it over, within 20 s.")
    try await fleet.gateway.clearFaults()
    let heir = try await fleet.worker(on: queue)
    _ = try await fleet.record(id)
    let explanation = try await explain(id, on: queue)
    #expect(explanation.status == "accepted")
    #expect(explanation.sentences.first == "A worker died while it held the job, which went back to its queue.")
    #expect(try await heir.stop() == 0)
  }

  @Test func `jobs that were not sent tell why`() async throws {
    let name = try await user([fleet.uniqueToken()])
    let value = fleet.unique("value")
    #expect(try await delivered(#"{"user":"\#(name)"}"#, #","dedupe":"\#(value)""#).status == "accepted")
    let duplicate = try await delivered(#"{"user":"\#(name)"}"#, #","dedupe":"\#(value)""#)
    #expect(duplicate.outcome.hasPrefix("It was not sent, because another job with the same dedupe value"))
    let expired = try await delivered(#"{"user":"\#(name)"}"#, #","expiration":1"#)
    #expect(expired.outcome == "It was not sent, because its expiration had passed.")
    let nobody = try await delivered(#"{"user":"\#(fleet.unique("nobody"))"}"#)
    #expect(nobody.outcome == "It was not sent, because the addressee has no devices.")
    #expect(nobody.sentences.contains("The addressee has no device."))
  }

  @Test func `entries of a set that are no devices of the user are told, with what became of them`() async throws {
    let (mine, other) = (fleet.uniqueToken(), fleet.uniqueToken())
    let name = try await user([mine])
    let stranger = try await user([other])
    try await fleet.redis("SADD", RegistryKeys.userTokens(Username(name)), other)
    let before = try await explain("--user", name)
    #expect(before.sentences("problem") == ["Device \(other.prefix(8))… belongs to user \(stranger) now."])
    let explanation = try await delivered(#"{"user":"\#(name)"}"#)
    #expect(explanation.status == "accepted")
    #expect(
      explanation.sentences.contains(
        "The addressee has 1 device; 1 entry of its set was removed: registered to another user now (1)."))
  }

  // MARK: - Dead letters

  @Test func `a dead letter tells its reason and what to do`() async throws {
    let id = fleet.unique("explain")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"x"},"titel":"T"}"#, on: queue)
    _ = try await fleet.record(id)
    let explanation = try await explain(id)
    #expect(explanation.state == "dead")
    #expect(explanation.outcome.hasPrefix("It was given up and is in the dead letters: unknown field \"titel\""))
    #expect(explanation.sentences.last?.hasPrefix("It was given up and put into the dead letters: ") == true)
    #expect(explanation.advice == "Correct the producer and send the job again; a dead letter cannot be changed.")
  }

  // MARK: - Jobs that have not ended

  @Test func `a job that waits tells its place`() async throws {
    let queue = fleet.unique("jobs")
    let ids = (0..<3).map { _ in fleet.unique("explain") }
    for id in ids {
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"x"},"title":"T","enqueuedAt":1}"#, on: queue)
    }
    let explanation = try await explain(ids[2], on: queue)
    #expect(explanation.state == "waiting")
    #expect(explanation.outcome == "It waits in \(queue) behind 2 jobs.")
    #expect(explanation.next?.sentence == "Nothing, until a worker runs.")
    #expect(try await explain(ids[0], on: queue).outcome == "It is the next job of \(queue).")
  }

  @Test func `a scheduled job tells when it is sent, and a cancelled one that it is not`() async throws {
    let id = fleet.unique("explain")
    try await fleet.enqueue(
      #"{"id":"\#(id)","to":{"user":"x"},"title":"T","sendAt":"2099-01-01T08:00:00Z"}"#, on: queue)
    try await eventually("it is scheduled") { try await run([id]).lines.first == "job \(id): scheduled" }
    let explanation = try await explain(id)
    #expect(explanation.state == "scheduled")
    #expect(explanation.outcome == "It was not sent yet: it is scheduled for 2099-01-01 08:00:00.")
    #expect(explanation.next?.at == 4_070_937_600_000)
    let control = await FleetQueues([queue], connection: fleet.connection)
    _ = try await control.cancel(id)
    let cancelled = try await explain(id)
    #expect(cancelled.state == "ended")
    #expect(cancelled.outcome == "It was not sent, because an operator cancelled it.")
    #expect(cancelled.sentences == ["The end was recorded: cancelled."])
  }

  // MARK: - Addressees

  @Test func `a user without devices, and one whose app nobody serves`() async throws {
    let nobody = try await explain("--user", fleet.unique("nobody"), exitCode: 1)
    #expect(!nobody.reachable)
    #expect(nobody.sentences("problem").first?.hasPrefix("No device is registered for user ") == true)
    let token = fleet.uniqueToken()
    let name = try await user([token], bundleID: "com.example.app")
    #expect(try await explain("--user", name).reachable)
    let child = try await run(["--user", name, "--full-tokens"])
    #expect(child.lines.contains { $0.contains(token) })
  }

  @Test func `a user whose only device was removed is told why`() async throws {
    let token = fleet.uniqueToken()
    let name = try await user([token])
    try await fleet.gateway.device(token, #""rule":"fixed","status":400,"reason":"BadDeviceToken""#)
    #expect(try await delivered(#"{"user":"\#(name)"}"#).status == "failed")
    try await eventually("the device is removed") {
      try await fleet.redis("EXISTS", RegistryKeys.token(entry: token)).integer == 0
    }
    let explanation = try await explain("--user", name)
    #expect(!explanation.reachable)
    #expect(
      explanation.sentences("problem").last?.hasPrefix(
        "Device \(token.prefix(8))… was removed: APNs refused it with BadDeviceToken (400, ") == true)
  }

  @Test func `a token tells whose it is`() async throws {
    let token = fleet.uniqueToken()
    let name = try await user([token])
    let explanation = try await explain("--token", token)
    #expect(explanation.reachable)
    #expect(explanation.sentences("fact").contains("It belongs to user \(name)."))
    #expect(try await explain("--token", fleet.uniqueToken(), exitCode: 1).findings.count == 1)
  }

  @Test func `a token of an instance is found, while the instance has it`() async throws {
    let (instance, token) = (fleet.unique("instance"), fleet.uniqueToken())
    let record = InstanceRecord(token: DeviceToken(token), environment: nil, updatedAt: 1)
    try await fleet.redis("SET", RegistryKeys.instance(instance), String(decoding: record.json(), as: UTF8.self))
    try await fleet.redis("SET", RegistryKeys.instanceOfToken(DeviceToken(token)), instance)
    let explanation = try await explain("--token", token)
    #expect(explanation.sentences("fact").contains("It is the device of instance \(instance)."))
    var next = record
    next.token = DeviceToken(fleet.uniqueToken())
    try await fleet.redis("SET", RegistryKeys.instance(instance), String(decoding: next.json(), as: UTF8.self))
    #expect(try await explain("--token", token, exitCode: 1).sentences("problem").count == 1)
  }

  // MARK: - Command line

  @Test(arguments: ["\u{1B}[31m<b>no</b>", "a\nb", "\u{202E}x", "no-such-job"])
  func `an id with control characters is printed safely and is not found`(id: String) async throws {
    for words in [[id], ["--user", id], ["--token", id], ["--instance", id]] {
      let child = try await run(words)
      #expect(child.exitCode == 1)
      #expect(!child.lines.contains { $0.contains("\u{1B}") || $0.contains("\u{202E}") })
      #expect(child.lines.first?.isEmpty == false)
    }
  }

  @Test func `the text has a line for each step, what happens next and what to do`() async throws {
    let id = fleet.unique("explain")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"user":"x"},"titel":"T"}"#, on: queue)
    _ = try await fleet.record(id)
    let lines = try await run([id]).lines
    #expect(lines.first == "job \(id): dead")
    #expect(lines.contains { $0.contains("Worker ") && $0.hasSuffix(" claimed it.") })
    #expect(lines.contains("Next:   Nothing: it stays in the dead letters until it is requeued or purged."))
    #expect(lines.last?.hasPrefix("To do:  Correct the producer") == true)
  }

  @Test(arguments: [[], ["a", "b"], ["a", "--user", "b"], ["--user", "a", "--token", "b"]])
  func `one subject is explained at a time`(words: [String]) async throws {
    #expect(try await run(words).exitCode == 2)
  }
}

import FleetSupport
import Foundation
import JSON
import Testing
import TestSupport

/// `martlet explain` about what policies have decided.
@Suite(.serialized) struct PolicyExplainFleetTests {
  private static let shared = Task { try await Fleet() }
  private static let sharedWorker = Task { try await shared.value.worker() }
  private let fleet: Fleet
  private let queue: String

  init() async throws {
    fleet = try await Self.shared.value
    queue = try await Self.sharedWorker.value.queue
    try await fleet.gateway.reset()
  }

  /// What `--json` prints.
  private struct Explanation {
    let json: JSONValue
    var state: String? { json["state"]?.string }
    var status: String? { json["status"]?.string }
    var next: JSONValue? { json["next"] }
    var sentences: [String] { json["steps"]?.array?.compactMap { $0["sentence"]?.string } ?? [] }
  }

  private func explain(_ id: String, on queue: String? = nil) async throws -> Explanation {
    let child = try await run([id, "--json", "--queue", queue ?? self.queue])
    return Explanation(json: try JSONValue(parsing: Array((child.lines.first ?? "").utf8)))
  }

  private func run(_ words: [String]) async throws -> ChildProcess {
    try await fleet.martlet(["explain"] + words, environment: ["MARTLET_QUEUES": queue])
  }

  @Test func `a suppressed job tells the numbers of its limit`() async throws {
    let instance = fleet.unique("instance")
    try await fleet.register(instance: instance)
    var ids: [String] = []
    for _ in 0..<4 { ids.append(try await fleet.enqueue("action_needed", to: instance, on: queue)) }
    for id in ids { _ = try await fleet.record(id) }
    let limit = try await explain(ids[3])
    #expect(limit.status == "suppressed")
    #expect(
      limit.sentences.contains {
        $0.hasPrefix("Policy nyra suppressed it: 3 of 3 notifications were sent in 5 min; the next is allowed at ")
      })
    let child = try await run(["--instance", instance])
    #expect(child.lines.contains { $0.contains("Policy nyra: 3 of 3 notifications in 5 min are used") })
  }

  @Test(arguments: [("attention_ping", "collapses with"), ("safety_critical", "allows one in 2 min")])
  func `a suppressed job tells its rule`(className: String, words: String) async throws {
    let instance = fleet.unique("instance")
    try await fleet.register(instance: instance)
    #expect(try await fleet.deliver(className, to: instance, on: queue).status == "accepted")
    let record = try await fleet.deliver(className, to: instance, on: queue)
    #expect(try await explain(record.id).sentences.contains { $0.contains(words) })
  }

  @Test func `in quiet hours a job is held or suppressed`() async throws {
    let (instance, queue) = (fleet.unique("instance"), fleet.unique("jobs"))
    try await fleet.register(instance: instance)
    let hours = try fleet.hoursAroundNow(in: "UTC")
    let quiet = try await fleet.worker(["MARTLET_QUIET_HOURS": hours.text, "MARTLET_TIME_ZONE": "UTC"], on: queue)
    let suppressed = try await fleet.deliver("action_needed", to: instance, on: queue)
    #expect(
      try await explain(suppressed.id, on: queue).sentences.contains {
        $0.hasPrefix("Policy nyra suppressed it: class action_needed is not sent in quiet hours, which end at ")
      })
    let held = try await fleet.enqueue("attention_ping", to: instance, on: queue)
    _ = try await fleet.record(held, "held") { $0.status == "deferred" }
    let explanation = try await explain(held, on: queue)
    #expect(explanation.state == "deferred")
    #expect(explanation.next?["sentence"]?.string == "The delivery policy decides again whether it is sent.")
    #expect(explanation.next?["at"]?.time == hours.end)
    #expect(try await quiet.stop() == 0)
  }
}

import FleetSupport
import Redis
import Testing
import TestSupport
@testable import Queue

/// A Redis that is short of memory: what nobody asked for makes room, and everyone is told.
@Suite(.serialized) struct MemoryTests {
  private static let maximum = 16 << 20

  private let fleet: Fleet
  private let queue: String

  init() async throws {
    fleet = try await Fleet(redisArguments: ["--maxmemory", "\(Self.maximum)", "--maxmemory-policy", "noeviction"])
    queue = fleet.unique("memory")
    try await fleet.register([fleet.uniqueToken()], to: "alice", bundleID: "com.example.app")
  }

  private static let filler = String(repeating: "x", count: 60_000)

  /// Fills Redis up to this share of its memory.
  private func fill(_ share: Double) async throws {
    try await fleet.redis("DEL", "filler")
    while try await used() < Double(Self.maximum) * share { try await fleet.redis("RPUSH", "filler", Self.filler) }
  }

  private func used() async throws -> Double {
    let text = try await fleet.redis("INFO", "memory").string ?? ""
    return Double(try #require(ServerMemory(ServerInfo(text))?.used))
  }

  private func enqueue(_ id: String, to addressee: String = #"{"user":"alice"}"#) async throws {
    try await fleet.enqueue(#"{"id":"\#(id)","to":\#(addressee),"title":"a"}"#, on: queue)
  }

  private func awaitStage(_ worker: FleetWorker, _ words: String) async throws {
    try await eventually("the worker knows") { try await worker.get("/readyz").body.contains(words) }
  }

  private func output(_ words: [String]) async throws -> String {
    let child = try await fleet.martlet(words, environment: ["MARTLET_QUEUES": queue])
    return (child.lines(of: .output) + child.lines(of: .error)).joined(separator: "\n")
  }

  @Test func `when Redis is short of memory, accepted jobs leave no record, and everyone says so`() async throws {
    let worker = try await fleet.worker(on: queue)
    try await enqueue("roomy")
    #expect(try await fleet.record("roomy").status == "accepted")
    try await fill(0.88)
    try await awaitStage(worker, "accepted jobs leave no record")
    try await enqueue("crowded")
    // Other jobs leave theirs. It may be removed at once, as no record of an accepted job can make room: one is seen in the end.
    var number = 0
    try await eventually("a record of a job that was not accepted") {
      number += 1
      try await enqueue("nobody-\(number)", to: #"{"user":"bob"}"#)
      try await fleet.settled(queue)
      return try await fleet.currentRecord("nobody-\(number)")?.status == "no_devices"
    }
    #expect(try await fleet.redis("EXISTS", QueueKeys.result("crowded")).integer == 0)
    #expect(try await worker.metric("martlet_records_left_out_total") == 1)
    #expect(worker.count(of: "Redis is short of memory") == 1)
    // The report is that of the last heartbeat.
    try await eventually("status tells") {
      try await output(["status"]).contains("% of 16 MB; accepted jobs leave no record")
    }
    #expect(try await output(["result", "crowded"]).contains("Redis was short of memory at "))
    #expect(try await output(["explain", "crowded"]).contains("Redis was short of memory at "))
    let doctor = try await output(["doctor"])
    #expect(doctor.contains("warn  redis memory") && doctor.contains("% of 16 MB: other "), "\(doctor)")
    try await fill(0.2)
    try await eventually("there is room again") { worker.count(of: "Redis has more room again") == 1 }
    try await enqueue("roomy-again")
    #expect(try await fleet.record("roomy-again").status == "accepted")
    #expect(try await worker.stop() == 0)
  }

  @Test func `a reply is written also when the record is not`() async throws {
    let worker = try await fleet.worker(on: queue)
    try await fill(0.88)
    try await awaitStage(worker, "accepted jobs leave no record")
    try await fleet.enqueue(#"{"id":"asked","to":{"user":"alice"},"title":"a","replyTo":"shop:asked"}"#, on: queue)
    try await eventually("the reply arrives") { try await fleet.redis("LLEN", "shop:asked").integer == 1 }
    #expect(try await fleet.redis("EXISTS", QueueKeys.result("asked")).integer == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `when Redis is full, only jobs are written`() async throws {
    let worker = try await fleet.worker(["MARTLET_EVENTS": "stream"], on: queue)
    try await fill(0.97)
    try await awaitStage(worker, "nothing is written but jobs")
    try await fleet.enqueue(#"{"id":"wrong","to":"#, #"{"id":"unknown","to":{"user":"bob"},"title":"a"}"#, on: queue)
    let letters = try await fleet.deadLetters(queue, count: 1)
    #expect(letters.count == 1)
    try await fleet.settled(queue)
    #expect(
      try await fleet.redis("EXISTS", QueueKeys.result("wrong"), QueueKeys.result("unknown"), "push:events").integer
        == 0)
    #expect(try await worker.metric("martlet_records_left_out_total") == 2)
    // A job that is tried again takes no history along.
    let token = fleet.uniqueToken()
    try await fleet.gateway.device(token, #""rule":"fixed","status":503"#)
    try await enqueue("again", to: #"{"token":"\#(token)"}"#)
    let retried = QueueKeys(queue: queue).retry
    var element = ""
    try await eventually("it is tried again") {
      element = try await fleet.redis("ZRANGE", retried, "0", "0").array?.first?.string ?? ""
      return !element.isEmpty
    }
    #expect(!element.contains("history") && element.contains("again"))
    try await fleet.gateway.clearDevices()
    try await fleet.settled(queue)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a record lives as long as all fit`() async throws {
    let worker = try await fleet.worker(["MARTLET_RECORD_MEMORY": "1mb"], on: queue)
    var number = 0
    // One megabyte has room for 15 minutes of a job each second.
    try await eventually("records live shorter") {
      for _ in 0..<200 {
        number += 1
        try await enqueue("\(number)")
      }
      try await fleet.settled(queue)
      try await enqueue("last")
      _ = try await fleet.record("last")
      return try #require(try await fleet.redis("PTTL", QueueKeys.result("last")).integer) < 3_600_000
    }
    try await eventually("status tells") {
      try await output(["status"]).contains("records of accepted jobs live ")
    }
    try await enqueue("nobody", to: #"{"user":"bob"}"#)
    _ = try await fleet.record("nobody")
    #expect(try #require(try await fleet.redis("PTTL", QueueKeys.result("nobody")).integer) > 80_000_000)
    #expect(try await worker.stop() == 0)
  }
}

import Crypto
import FleetSupport
import Jobs
import Redis
import Testing
import TestSupport
@testable import Queue

/// Jobs over 64 KiB are checked inside Redis and buried there byte for byte, without affecting others.
@Suite(.serialized) struct OversizedTests {
  private static let mebibyte = 1024 * 1024
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
  }

  /// Bytes that are not JSON, whose beginning names them.
  private func giant(_ mebibytes: Int, _ name: String) -> [UInt8] {
    Array(#"{"id":"\#(name)","to":{"user":"a"},"title":""#.utf8)
      + [UInt8](repeating: 0x78, count: mebibytes * Self.mebibyte)
  }

  /// Compares the bytes inside Redis.
  private func isBuried(_ bytes: [UInt8], on queue: String) async throws -> Bool {
    let script = """
      for _, letter in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
        if redis.sha1hex(string.sub(letter, -ARGV[1])) == ARGV[2] and string.find(letter, ARGV[3], 1, true) then
          return 1
        end
      end
      return 0
      """
    let digest = SHA1.hex(bytes)
    let answer = try await fleet.redis(
      "EVAL", script, "1", QueueKeys(queue: queue).dead, "\(bytes.count)", digest, "larger than 65536 bytes")
    return answer.integer == 1
  }

  private func buried(_ count: Int, on queue: String) async throws {
    try await eventually("\(count) dead letters") {
      try await fleet.redis("ZCARD", QueueKeys(queue: queue).dead).integer ?? 0 >= count
    }
  }

  private func isDelivered(on queue: String) async throws -> Bool {
    let id = fleet.unique("small")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello"}"#, on: queue)
    return try await fleet.record(id).status == "accepted"
  }

  /// The ids of the connections on which workers wait.
  private func fetchConnections() async throws -> [Substring] {
    let list = try await fleet.redis("CLIENT", "LIST").string ?? ""
    return list.split(separator: "\n").filter { $0.contains("name=martlet-fetch") }
      .compactMap { $0.split(separator: " ").first }
  }

  private func sentBytes() async throws -> Int {
    let lines = (try await fleet.redis("INFO", "stats").string ?? "").split(whereSeparator: \.isNewline)
    let line = lines.first { $0.hasPrefix("total_net_output_bytes:") }
    return Int(line?.split(separator: ":").last ?? "") ?? 0
  }

  /// The Redis of a slow machine may be busy with it for longer than a worker waits for an answer.
  @Test(arguments: ["at-least-once", "at-most-once"])
  func `a job of 65 MiB is buried byte for byte, and the next one is delivered`(mode: String) async throws {
    let worker = try await fleet.worker(["MARTLET_DELIVERY": mode])
    #expect(try await isDelivered(on: worker.queue))
    let name = fleet.unique("giant")
    try await fleet.enqueue([giant(65, name)], on: worker.queue)
    try await buried(1, on: worker.queue)
    #expect(try await isBuried(giant(65, name), on: worker.queue))
    #expect(try await isDelivered(on: worker.queue))
    try await fleet.settled(worker.queue)
    #expect(try await worker.stop() == 0)
    try await fleet.redis("DEL", QueueKeys(queue: worker.queue).dead)
  }

  @Test(arguments: ["at-least-once", "at-most-once"])
  func `a job of 4 MiB is buried by a waiting worker without losing its connection`(mode: String) async throws {
    let worker = try await fleet.worker(["MARTLET_DELIVERY": mode])
    #expect(try await isDelivered(on: worker.queue))
    let (name, connections) = (fleet.unique("giant"), try await fetchConnections())
    let before = try await sentBytes()
    try await fleet.enqueue([giant(4, name)], on: worker.queue)
    try await buried(1, on: worker.queue)
    #expect(try await isBuried(giant(4, name), on: worker.queue))
    let record = try await fleet.record(name)
    #expect(record.status == "dead")
    #expect(record.reason == "larger than 65536 bytes")
    #expect(try await isDelivered(on: worker.queue))
    #expect(try await fetchConnections() == connections)
    #expect(try await worker.metric("martlet_redis_reconnects_total") == 0)
    #expect(try await worker.metric("martlet_dead_letters_total") == 1)
    let lines = try await worker.lines(with: "jobs are too large")
    #expect(lines.count == 1)
    #expect(lines.allSatisfy { $0.contains(worker.queue) && $0.contains("\(giant(4, name).count)") }, "\(lines)")
    // Only BRPOP transfers elements of any size.
    if mode == "at-least-once" { #expect(try await sentBytes() - before < Self.mebibyte) }
    #expect(try await fleet.unsettled(worker.queue) == 0)
    #expect(try await worker.stop() == 0)
    try await fleet.redis("DEL", QueueKeys(queue: worker.queue).dead)
  }

  @Test(arguments: ["at-least-once", "at-most-once"])
  func `jobs of 20 MiB are buried inside Redis, and the jobs between them are delivered`(
    mode: String
  ) async throws {
    let queue = fleet.unique("backlog")
    for index in 0..<8 {
      try await fleet.enqueue(
        [
          giant(20, "\(queue)-giant-\(index)"),
          Array(
            #"{"id":"\#(queue)-\#(index)","to":{"token":"\#(fleet.uniqueToken())"},"title":"Hello"}"#.utf8),
        ], on: queue)
    }
    let before = try await sentBytes()
    let worker = try await fleet.worker(["MARTLET_DELIVERY": mode], on: queue)
    for index in 0..<8 { #expect(try await fleet.record("\(queue)-\(index)").status == "accepted") }
    try await buried(8, on: queue)
    #expect(try await sentBytes() - before < Self.mebibyte)
    #expect(try await isBuried(giant(20, "\(queue)-giant-7"), on: queue))
    #expect(try await fleet.unsettled(queue) == 0)
    #expect(try await worker.stop() == 0)
    try await fleet.redis("DEL", QueueKeys(queue: queue).dead)
  }

  @Test func `an element left in a landing list is claimed by another worker or buried`() async throws {
    let queue = fleet.unique("landed")
    let keys = QueueKeys(queue: queue)
    let ids = [fleet.unique("landed"), fleet.unique("landed")]
    func job(_ id: String) -> String { #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"x"}"# }
    // A dead worker.
    try await fleet.redis("SADD", keys.workers, "gone")
    try await fleet.enqueue([giant(1, fleet.unique("giant"))], on: keys.landing("gone"))
    try await fleet.enqueue(job(ids[0]), on: keys.landing("gone"))
    // A live worker.
    let worker = try await fleet.worker(on: queue)
    try await fleet.enqueue(job(ids[1]), on: keys.landing(try worker.name()))
    try await fleet.enqueue([giant(1, fleet.unique("giant"))], on: keys.landing(try worker.name()))
    for id in ids { #expect(try await fleet.record(id).status == "accepted") }
    try await buried(2, on: queue)
    try await fleet.settled(queue)
    // A worker that stops hands back its landing list.
    try await fleet.enqueue(job(fleet.unique("landed")), on: keys.landing(try worker.name()))
    #expect(try await worker.stop() == 0)
    #expect(try await fleet.redis("SMEMBERS", keys.workers) == .array([]))
    #expect(try await fleet.leftovers(queue).filter { !$0.hasPrefix(queue) } == [])
  }

  @Test func `a Redis without CLIENT REPLY SKIP delivers too`() async throws {
    let fleet = try await Fleet()
    try await fleet.redis("ACL", "SETUSER", Fleet.user, "-client|reply")
    let worker = try await fleet.worker()
    for _ in 0..<3 {
      let id = fleet.unique("plain")
      try await fleet.enqueue(
        #"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"x"}"#, on: worker.queue)
      #expect(try await fleet.record(id).status == "accepted")
    }
    try await fleet.enqueue([giant(2, "large")], on: worker.queue)
    #expect(try await fleet.record("large").status == "dead")
    #expect(try await worker.metric("martlet_redis_reconnects_total") == 0)
    #expect(try await worker.stop() == 0)
  }

  @Test func `a script that Redis lost while a worker waits loses no job`() async throws {
    let worker = try await fleet.worker()
    #expect(try await isDelivered(on: worker.queue))
    try await fleet.redis("SCRIPT", "FLUSH", "SYNC")
    #expect(try await isDelivered(on: worker.queue))
    #expect(try await worker.stop() == 0)
  }

  @Test func `martlet dead shows the beginning of a large job, and requeues and purges it inside Redis`() async throws {
    let worker = try await fleet.worker()
    let name = fleet.unique("giant")
    // A larger one would keep the Redis of a slow machine busy for longer than a command waits for an answer.
    try await fleet.enqueue([giant(8, name)], on: worker.queue)
    #expect(try await fleet.record(name).status == "dead")
    let settings = ["MARTLET_QUEUES": worker.queue]
    let list = try await fleet.martlet("dead", "list", environment: settings)
    #expect(list.lines.contains { $0.contains(name) })
    #expect(list.lines.contains { $0.contains("larger than 65536 bytes") })
    let shown = try await fleet.martlet("dead", "show", name, environment: settings)
    #expect(shown.lines.contains { $0.contains(#"{"id":"\#(name)","to""#) })
    #expect(shown.lines.contains { $0.contains("more bytes") })
    let requeued = try await fleet.martlet("dead", "requeue", name, environment: settings)
    #expect(requeued.lines == ["requeued 1"])
    try await eventually("it is buried again") { try await worker.metric("martlet_dead_letters_total") == 2 }
    #expect(try await isBuried(giant(8, name), on: worker.queue))
    let purged = try await fleet.martlet("dead", "purge", name, environment: settings)
    #expect(purged.lines == ["purged 1"])
    #expect(try await fleet.deadLetters(worker.queue).isEmpty)
    #expect(try await worker.stop() == 0)
  }
}

import PushModel
import FleetSupport
import Glibc
import Redis
import Registry
import Testing
import TestSupport
@testable import Operations
@testable import Queue

/// Workers on a real cluster of three primaries with a replica each, whose servers fail and whose slots move under load.
@Suite(.serialized) struct ClusterTests {
  private static let cluster = Task { try await RedisCluster() }
  private static let fleet = Task { try await Fleet(cluster: try await cluster.value) }
  private static let quiet = ["MARTLET_LOG": "info", "MARTLET_CONCURRENCY": "64"]

  @Test func `the queue's slot moves from server to server under load, and no job is lost`() async throws {
    let (cluster, fleet) = (try await Self.cluster.value, try await Self.fleet.value)
    try await fleet.gateway.reset()
    let queue = fleet.unique("moving")
    var workers: [FleetWorker] = []
    for _ in 0..<2 { workers.append(try await fleet.worker(Self.quiet, on: queue)) }
    let load = Load(fleet, on: queue, perSecond: 400)
    await load.start()
    for slot in [0, 8000, 16_000, 0] {
      try await advance(load, by: 300)
      try await cluster.move(slot: HashSlot.of(queue), to: try await cluster.primary(ofSlot: slot))
    }
    try await advance(load, by: 300)
    let account = await load.stop()
    let status = try await fleet.status(of: account.enqueued, on: queue)
    print("4 moves, \(account.enqueued.count) jobs, \(account.refused) refused: \(status.description)")
    status.expectAllAccepted(account.enqueued.count)
    #expect(status.duplicates == 0)
    for worker in workers { #expect(try await worker.stop() == 0) }
  }

  @Test func `slots of users and devices move under load, and every push reaches its device`() async throws {
    let (cluster, fleet) = (try await Self.cluster.value, try await Self.fleet.value)
    try await fleet.gateway.reset()
    let queue = fleet.unique("registry")
    let users = (0..<20).map { "\(queue)-user-\($0)" }
    var tokens: [String: String] = [:]
    for user in users {
      let token = fleet.uniqueToken()
      tokens[user] = token
      try await fleet.register(token, to: user)
    }
    let worker = try await fleet.worker(Self.quiet, on: queue)
    for (round, slot) in [0, 16_000, 8000].enumerated() {
      let target = try await cluster.primary(ofSlot: slot)
      let jobs = users.map { #"{"id":"\#($0)-\#(round)","to":{"user":"\#($0)"},"title":"x"}"# }
      try await fleet.enqueue(jobs.map { Array($0.utf8) }, on: queue)
      for user in users.prefix(6) {
        try await cluster.move(slot: HashSlot.of(RegistryKeys.userTokens(Username(user))), to: target)
        try await cluster.move(slot: HashSlot.of(RegistryKeys.token(entry: tokens[user] ?? "")), to: target)
      }
      try await fleet.settled(queue)
      for user in users {
        let record = try await fleet.record("\(user)-\(round)")
        #expect(record.status == "accepted" && record.accepted == 1, "\(record)")
      }
    }
    #expect(try await worker.stop() == 0)
  }

  @Test func `a queue is paused, and waiting, scheduled and retried jobs are cancelled`() async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    let queue = fleet.unique("steered")
    let worker = try await fleet.worker(Self.quiet, on: queue)
    let control = await FleetQueues([queue], connection: fleet.connection)
    func job(_ id: String, _ more: String = "") -> String {
      #"{"id":"\#(queue)-\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"x"\#(more)}"#
    }
    let reply = fleet.unique("replies")
    try await fleet.enqueue(job("later", ",\"sendAt\":4000000000000,\"replyTo\":\"\(reply)\""), on: queue)
    try await eventually("it is scheduled") {
      try await fleet.redis("ZCARD", QueueKeys(queue: queue).scheduled).integer == 1
    }
    guard case .cancelled = try await control.cancel("\(queue)-later") else { Issue.record("not cancelled"); return }
    #expect(try await fleet.record("\(queue)-later").status == "cancelled")
    #expect(try await fleet.redis("LLEN", reply).integer == 1)
    let queues = await QueueControl(queue: queue, connection: fleet.connection)
    _ = try await queues.pause(by: "test", reason: "")
    try await fleet.enqueue(job("dropped"), job("kept"), on: queue)
    guard case .marked = try await control.cancel("\(queue)-dropped") else { Issue.record("not marked"); return }
    #expect(try await queues.resume())
    #expect(try await fleet.record("\(queue)-dropped").status == "cancelled")
    #expect(try await fleet.record("\(queue)-kept").status == "accepted")
    #expect(try await fleet.gateway.ledger().received == 1)
    #expect(try await worker.stop() == 0)
  }

  @Test(arguments: ["at-least-once", "at-most-once"])
  func `one worker serves queues at different servers, and a reply and its record arrive`(mode: String) async throws {
    let fleet = try await Self.fleet.value
    try await fleet.gateway.reset()
    let base = fleet.unique("spread")
    // Names in the first, the middle and the last third of the slots.
    let queues = (0..<3).compactMap { third in
      (0..<100).map { "\(base)-\($0)" }.first { HashSlot.of($0) * 3 / HashSlot.count == third }
    }
    #expect(queues.count == 3)
    let worker = try await fleet.worker([
      "MARTLET_QUEUES": queues.joined(separator: ","), "MARTLET_DELIVERY": mode, "MARTLET_LOG": "info",
    ])
    // The second round is enqueued while the worker waits.
    for round in 0..<2 {
      for queue in queues {
        let token = fleet.uniqueToken()
        let job = #"{"id":"\#(queue)-\#(round)","to":{"token":"\#(token)"},"title":"x","replyTo":"\#(queue)-reply"}"#
        try await fleet.enqueue(job, on: queue)
        let record = try await fleet.record("\(queue)-\(round)")
        #expect(record.status == "accepted", "\(record)")
      }
    }
    for queue in queues {
      try await fleet.settled(queue)
      #expect(try await fleet.redis("LLEN", "\(queue)-reply").integer == 2)
      #expect(try await fleet.redis("TTL", "\(queue)-reply").integer ?? 0 > 3000)
    }
    #expect(try await worker.stop() == 0)
  }

  /// A cluster of its own: one server fewer is left.
  @Test func `kill -9 of the primary of the queue under load loses only what had not reached its replica`() async throws
  {
    let cluster = try await RedisCluster()
    let fleet = try await Fleet(cluster: cluster)
    let queue = fleet.unique("failover")
    var workers: [FleetWorker] = []
    for _ in 0..<2 { workers.append(try await fleet.worker(Self.quiet, on: queue)) }
    let load = Load(fleet, on: queue, perSecond: 400)
    await load.start()
    try await advance(load, by: 500)
    let victim = try await cluster.primary(of: queue)
    // The replica has all that was confirmed before: nothing is sent to the primary between this and its end.
    let before = await load.pause()
    try await victim.waitForReplica()
    try await victim.kill()
    await load.resume()
    try await advance(load, by: 500)
    let account = await load.stop()
    let status = try await fleet.status(of: account.enqueued, on: queue)
    print(
      "failover after \(before) of \(account.enqueued.count) jobs, \(account.unknown.count) unknown: \(status.description)"
    )
    status.expectAllAccepted(account.enqueued.count)
    for worker in workers { #expect(try await worker.stop() == 0) }
    try await cluster.stop()
  }

  /// A cluster and a fleet of its own: one slot is left without a server, and its gateway ends.
  @Test func `a job that wrote its record and was never settled runs again, and its record is that of its end`()
    async throws
  {
    let cluster = try await RedisCluster(replicas: 0, ["--cluster-require-full-coverage", "no"])
    let fleet = try await Fleet(cluster: cluster)
    let (queue, id) = (fleet.unique("unsettled"), fleet.unique("job"))
    let first = try await fleet.worker(Self.quiet, on: queue)
    try await fleet.gateway.fault(#"{"kind":"stall","processed":true,"count":1}"#)
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"x"}"#, on: queue)
    try await eventually("the push waits at the gateway") {
      try await fleet.gateway.ledger().received == 1
    }
    let server = try await cluster.primary(of: queue)
    let slot = "\(HashSlot.of(queue))"
    // Without a heartbeat the worker believes in its lease for some seconds only, and a slow machine needs them.
    let heartbeat = QueueKeys(queue: queue).heartbeat(try first.name())
    try await eventually("a heartbeat was just written") {
      try await fleet.redis("PTTL", heartbeat).integer ?? 0 > 14_000
    }
    // From now on the server of the queue refuses what concerns it: CLUSTERDOWN. Records are in other slots.
    try await server.redisCLI(["CLUSTER", "DELSLOTS", slot])
    fleet.gateway.process.signal(SIGKILL)
    _ = try await fleet.record(id, "of the first attempt") { $0.status == "retrying" }
    try await first.kill()
    try await server.redisCLI(["CLUSTER", "ADDSLOTS", slot])
    let gateway = try await SimulatedGateway()
    let environment = Self.quiet.merging(gateway.environment) { $1 }.mapValues(Optional.some)
    let second = try await fleet.worker(environment, on: queue)
    let record = try await fleet.record(id)
    #expect(record.status == "accepted" && record.accepted == 1, "\(record)")
    #expect(try await second.metric("martlet_records_kept_total") == 0)
    #expect(try await second.stop() == 0)
    try await cluster.stop()
  }

  private func advance(_ load: Load, by count: Int) async throws {
    let goal = await load.enqueued + count
    try await eventually("the load continues") { await load.enqueued >= goal }
  }
}

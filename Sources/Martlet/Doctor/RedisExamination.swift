import EventLoop
import Events
import Jobs
import JSON
import Operations
import Program
import Queue
import Redis
import Telemetry

/// Checks the settings of Redis and the keys of the queues. Changes nothing.
@EventLoop
struct RedisExamination {
  private static let patience = Duration.seconds(5)

  let endpoint: RedisEndpoint
  let queues: [String]

  func findings() async -> [Finding] {
    let connection = RedisClient(endpoint: endpoint, name: "martlet-doctor", log: .silent)
    connection.start()
    defer { connection.close() }
    var findings: [Finding] = []
    do throws(RedisError) {
      try await connection.ready(within: RedisExamination.patience)
      findings.append(Finding("redis", .ok, "\(endpoint.summary) answers"))
      findings += certificateFindings
      let facts = try await facts(connection)
      findings += facts.findings(isCluster: endpoint.isCluster)
      if facts.refusal == nil {
        findings += try await MemoryExamination(connection: connection, queues: queues).findings()
      }
      if let overview = try await connection.clusterOverview() { findings += ClusterExamination.findings(overview) }
      for queue in queues { findings += try await examine(queue, connection) }
      findings += try await examineEvents(connection)
    } catch {
      // Errors of the connection include the fix.
      findings.append(Finding("redis", .problem, "\(error)"))
    }
    return findings
  }

  private func facts(_ connection: RedisClient) async throws(RedisError) -> RedisFacts {
    var facts: RedisFacts
    do throws(RedisError) {
      facts = RedisFacts(info: try await connection.send(RedisCommand("INFO")).string ?? "")
    } catch {
      guard case .reply(let refusal) = error else { throw error }
      facts = RedisFacts(info: "")
      facts.refusal = refusal.message
    }
    if facts.info.engine.kind == .keyDB { facts.activeSettings = try await activeSettings(connection) }
    let before = Clock.unixMilliseconds
    let words = try await allowed(RedisCommand("TIME"), connection)?.array
    let time = words?.compactMap { $0.string?.integer(in: NumberRange.times) }
    if let time, time.count == 2 {
      let middle = before + (Clock.unixMilliseconds - before) / 2
      facts.clockDifference = time[0] * 1000 + time[1] / 1000 - middle
    }
    return facts
  }

  /// KeyDB's settings of replication in both directions; empty if this user may not ask.
  private func activeSettings(_ connection: RedisClient) async throws(RedisError) -> [String: String] {
    var settings: [String: String] = [:]
    for name in ["active-replica", "multi-master"] {
      let pair = try await allowed(RedisCommand("CONFIG", "GET", name), connection)?.array ?? []
      if pair.count == 2, let value = pair[1].string { settings[name] = value }
    }
    return settings
  }

  private var certificateFindings: [Finding] {
    guard let certificate = endpoint.clientCertificate else { return [] }
    let check = "redis certificate"
    guard endpoint.isEncrypted else {
      return [
        Finding(
          check, .warning, "REDIS_CLIENT_CERT is not used: the connection is not encrypted",
          fix: "set REDIS_URL to rediss://, or unset REDIS_CLIENT_CERT and REDIS_CLIENT_KEY")
      ]
    }
    return [
      CertificateExamination(
        certificate: certificate, check: check, refusers: "Redis refuses it",
        fix: "renew REDIS_CLIENT_CERT and restart the processes"
      ).finding(at: Clock.unixMilliseconds / 1000)
    ]
  }

  /// Returns the reply, or nil if this user may not run the command.
  private func allowed(_ command: RedisCommand, _ connection: RedisClient) async throws(RedisError) -> RedisValue? {
    do {
      return try await connection.send(command)
    } catch .reply {
      return nil
    }
  }

  private func examineEvents(_ connection: RedisClient) async throws(RedisError) -> [Finding] {
    let found = try await allowed(RedisCommand("TYPE", EventStream.key), connection)?.string ?? "none"
    if found != "none", found != "stream" {
      return [
        Finding(
          "events", .problem, "\(EventStream.key) is a \(found), not a stream: events are lost",
          fix: "find out what wrote the key, then RENAME or DEL it")
      ]
    }
    return try await Parts.statuses(connection).compactMap(\.checked)
  }

  private func examine(_ queue: String, _ connection: RedisClient) async throws(RedisError) -> [Finding] {
    let keys = QueueKeys(queue: queue)
    let expected = [
      (queue, "list"), (keys.retry, "zset"), (keys.scheduled, "zset"), (keys.dead, "zset"), (keys.workers, "set"),
    ]
    var faults: [Finding] = []
    for (key, type) in expected {
      guard let found = try await allowed(RedisCommand("TYPE", key), connection)?.string else { continue }
      if found != type, found != "none" { faults.append(Finding(wrongType: key, found: found, expected: type)) }
    }
    guard faults.isEmpty else { return faults }
    return Finding.counts(try await QueueOverview.read([queue], from: connection)[0])
  }
}

extension Finding {
  fileprivate init(wrongType key: String, found: String, expected: String) {
    self.init(
      "queue", .problem, "\(key) is a \(found), not a \(expected): the queue is blocked",
      fix: "find out what wrote the key, then RENAME or DEL it")
  }

  /// Returns the findings of a queue whose keys have the right types.
  static func counts(_ overview: QueueOverview) -> [Finding] {
    let queue = overview.queue
    var findings = [Finding("queue", .ok, "\(queue): \(overview.waiting) waiting, \(overview.inFlight) in flight")]
    if let pause = overview.pause {
      findings.append(
        Finding(
          "queue", .warning, "\(queue) is paused \(pause.summary)",
          fix: "let workers serve it with martlet queue resume \(queue)"))
    }
    if overview.dead > 0 {
      findings.append(
        Finding(
          "dead letters", .fact, "\(queue): \(overview.dead)",
          fix: "see the reasons with martlet dead list --queue \(queue), then requeue or purge"))
    }
    if overview.waiting > 0, overview.workers.isEmpty {
      findings.append(
        Finding(
          "workers", .fact, "\(queue): \(overview.waiting) jobs wait and no worker serves the queue",
          fix: "start martlet worker"))
    }
    return findings
  }
}

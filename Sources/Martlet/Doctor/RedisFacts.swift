import JSON
import Operations
import Program
import Redis

/// What is known about Redis.
package struct RedisFacts: Sendable, Equatable {
  var info: ServerInfo
  /// Why INFO was refused: the error of Redis. Nil if it was answered.
  var refusal: String?
  /// The values of KeyDB's settings `active-replica` and `multi-master`.
  var activeSettings: [String: String] = [:]
  /// The milliseconds by which the clock of Redis is ahead of this machine's.
  var clockDifference: Int64?

  /// `info` is the reply to INFO.
  init(info: String) {
    self.info = ServerInfo(info)
  }
}

extension RedisFacts {
  /// The first version with BLMOVE and ZRANGE BYLEX.
  private static let oldestVersion = [6, 2]
  /// Milliseconds. Scheduled jobs run this much too early or late.
  private static let clockWarning: Int64 = 2000
  /// Milliseconds. APNs refuses provider tokens that are an hour off, and daily limits are reset too early or too late.
  private static let clockFault: Int64 = 300_000

  /// `isCluster` tells whether REDIS_URL is that of a cluster.
  func findings(isCluster: Bool = false) -> [Finding] {
    let isUnknown = refusal != nil
    return
      (isUnknown ? [refusalFinding] : [versionFinding, engineFinding, roleFinding, activeFinding])
      .compactMap { $0 } + [modeFinding(isCluster), memoryFinding, persistenceFinding, clockFinding].compactMap { $0 }
  }

  private var refusalFinding: Finding? {
    refusal.map {
      Finding(
        "redis version", .warning, "unknown: INFO is refused (\($0))",
        fix: "allow INFO, or ask the operator of the service for version, maxmemory-policy and persistence")
    }
  }

  private var versionFinding: Finding {
    guard let version = info.version else { return unreported("redis version", "the version") }
    let numbers = version.split(separator: ".").prefix(2).map { $0.integer(in: 0...1_000_000) ?? 0 }
    let isNewEnough = !numbers.lexicographicallyPrecedes(RedisFacts.oldestVersion)
    return isNewEnough
      ? Finding("redis version", .ok, info.engine.summary)
      : Finding(
        "redis version", .problem, "\(info.engine.summary) lacks commands that the queues need",
        fix: "run Redis 6.2 or newer")
  }

  private var engineFinding: Finding? {
    switch info.engine.kind {
    case .redis, .valkey: nil
    case .keyDB, .dragonfly, .elastiCache, .upstash:
      Finding(
        "redis engine", .fact,
        "\(info.engine.kind.rawValue) is not tested with Martlet: docs/redis.md says what is known")
    }
  }

  private var roleFinding: Finding? {
    guard let role = info.role, role != "master", role != "active-replica" else { return nil }
    return Finding(
      "redis role", .problem, "this server is a read-only replica",
      fix: "set REDIS_URL to the master, or to the sentinels with redis+sentinel://")
  }

  /// Two servers that both accept writes hand the same job to two workers.
  private var activeFinding: Finding? {
    guard info.engine.kind == .keyDB else { return nil }
    let active = activeSettings.filter { $1 == "yes" }.keys.sorted()
    if info.role == "active-replica" || !active.isEmpty {
      let why = active.isEmpty ? "" : " (\(active.joined(separator: ", ")))"
      return Finding(
        "redis replication", .problem,
        "KeyDB replicates in both directions\(why): jobs run twice and records are overwritten",
        fix: "set active-replica no and multi-master no, with one master and a read-only replica")
    }
    guard activeSettings.isEmpty else { return nil }
    return Finding(
      "redis replication", .warning, "unknown: KeyDB does not say whether it replicates in both directions",
      fix: "allow CONFIG GET, and keep active-replica and multi-master at no")
  }

  private func modeFinding(_ isCluster: Bool) -> Finding? {
    guard info.mode == "cluster", !isCluster else { return nil }
    return Finding(
      "redis mode", .problem, "this server belongs to a cluster: commands to other servers' keys fail",
      fix: "set REDIS_URL to redis+cluster:// or, with TLS, rediss+cluster://")
  }

  private var memoryFinding: Finding {
    let check = "maxmemory-policy"
    guard let policy = info.memoryPolicy else { return unreported(check, "the policy") }
    if policy == "noeviction" { return Finding(check, .ok, policy) }
    let victims =
      policy.hasPrefix("volatile-")
      ? "devices, records and heartbeats (a worker without one is taken for dead)" : "jobs, devices and heartbeats"
    let fix =
      "set maxmemory-policy noeviction with CONFIG SET and in redis.conf, or in the service's settings; where it is fixed, "
      + "have room and an alert on evictions"
    // Without maxmemory Redis evicts nothing.
    return info.maximumMemory == 0
      ? Finding(check, .warning, "\(policy): \(victims) will be deleted once maxmemory is set", fix: fix)
      : Finding(check, .problem, "\(policy): a full Redis deletes \(victims)", fix: fix)
  }

  private var persistenceFinding: Finding {
    guard let isAppendOnly = info.isAppendOnly else {
      return unreported("appendonly", "whether it writes a log to disk")
    }
    return isAppendOnly
      ? Finding("appendonly", .ok, "yes")
      : Finding(
        "appendonly", .warning, "no: a restart of Redis loses jobs and devices",
        fix: "set appendonly yes with CONFIG SET and in redis.conf, or use the durability that the service has")
  }

  private var clockFinding: Finding {
    guard let difference = clockDifference else {
      return Finding(
        "clock", .warning, "unknown: this user may not ask Redis", fix: "allow TIME, or ask the operator of Redis")
    }
    let off = difference.magnitude
    let text = "Redis is \(off) ms \(difference < 0 ? "behind" : "ahead of") this machine"
    if off < RedisFacts.clockWarning { return Finding("clock", .ok, text) }
    return Finding(
      "clock", off < RedisFacts.clockFault ? .warning : .problem, text,
      fix: "synchronise the clocks of both machines with NTP")
  }

  private func unreported(_ check: String, _ what: String) -> Finding {
    if refusal != nil {
      return Finding(
        check, .warning, "unknown: this user may not ask Redis", fix: "allow INFO, or ask the operator of Redis")
    }
    return Finding(
      check, .warning, "unknown: \(info.engine.kind.rawValue) does not report \(what)",
      fix: "look at the settings of the service")
  }
}

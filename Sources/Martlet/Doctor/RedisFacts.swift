/// What Redis reports about itself. Values that it does not report are nil.
package struct RedisFacts: Sendable, Equatable {
  /// For example `7.0.15`.
  var version: String?
  /// `master` or `slave`
  var role: String?
  /// For example `noeviction`.
  var memoryPolicy: String?
  /// Bytes; 0 for no limit.
  var maximumMemory: Int64?
  var isAppendOnly: Bool?
  /// The milliseconds by which the clock of Redis is ahead of this machine's.
  var clockDifference: Int64?

  /// Reads the reply of INFO.
  init(info: String) {
    var values: [String: String] = [:]
    for line in info.split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
    }
    version = values["redis_version"]
    role = values["role"]
    memoryPolicy = values["maxmemory_policy"]
    maximumMemory = values["maxmemory"].flatMap { Int64($0) }
    isAppendOnly = values["aof_enabled"].map { $0 == "1" }
  }
}

extension RedisFacts {
  /// The first version with BLMOVE and ZRANGE BYLEX.
  private static let oldestVersion = [6, 2]
  /// Milliseconds. Scheduled jobs run this much too early or late.
  private static let clockWarning: Int64 = 2000
  /// Milliseconds. APNs refuses provider tokens that are an hour off, and daily limits are reset too early or too late.
  private static let clockFault: Int64 = 300_000

  var findings: [Finding] {
    [versionFinding, roleFinding, memoryFinding, persistenceFinding, clockFinding].compactMap { $0 }
  }

  private var versionFinding: Finding {
    guard let version else { return RedisFacts.unknown("redis version") }
    let numbers = version.split(separator: ".").prefix(2).map { Int($0) ?? 0 }
    let isNewEnough = !numbers.lexicographicallyPrecedes(RedisFacts.oldestVersion)
    return isNewEnough
      ? Finding("redis version", .ok, version)
      : Finding("redis version", .fail, "\(version) lacks commands that the queues need", fix: "run Redis 6.2 or newer")
  }

  private var roleFinding: Finding? {
    guard let role, role != "master" else { return nil }
    return Finding(
      "redis role", .fail, "this server is a read-only replica",
      fix: "set REDIS_URL to the master, or to the sentinels with redis+sentinel://")
  }

  private var memoryFinding: Finding {
    guard let policy = memoryPolicy else { return RedisFacts.unknown("maxmemory-policy") }
    if policy == "noeviction" { return Finding("maxmemory-policy", .ok, policy) }
    let fix = "set maxmemory-policy noeviction with CONFIG SET and in redis.conf"
    // Without maxmemory Redis evicts nothing.
    return maximumMemory == 0
      ? Finding(
        "maxmemory-policy", .warn, "\(policy): jobs and devices will be deleted once maxmemory is set", fix: fix)
      : Finding("maxmemory-policy", .fail, "\(policy): a full Redis deletes jobs and devices", fix: fix)
  }

  private var persistenceFinding: Finding {
    guard let isAppendOnly else { return RedisFacts.unknown("appendonly") }
    return isAppendOnly
      ? Finding("appendonly", .ok, "yes")
      : Finding(
        "appendonly", .warn, "no: a restart of Redis loses jobs and devices",
        fix: "set appendonly yes with CONFIG SET and in redis.conf")
  }

  private var clockFinding: Finding {
    guard let difference = clockDifference else { return RedisFacts.unknown("clock") }
    let off = difference.magnitude
    let text = "Redis is \(off) ms \(difference < 0 ? "behind" : "ahead of") this machine"
    if off < RedisFacts.clockWarning { return Finding("clock", .ok, text) }
    return Finding(
      "clock", off < RedisFacts.clockFault ? .warn : .fail, text,
      fix: "synchronise the clocks of both machines with NTP")
  }

  private static func unknown(_ check: String) -> Finding {
    Finding(
      check, .warn, "unknown: this user may not ask Redis", fix: "allow INFO and TIME, or ask the operator of Redis")
  }
}

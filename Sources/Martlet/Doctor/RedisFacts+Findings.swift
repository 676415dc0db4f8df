extension RedisFacts {
  /// Jobs are moved by BLMOVE, audiences read by ZRANGE BYLEX.
  private static let oldestVersion = [6, 2]
  /// Milliseconds; what is due is due by one clock or the other.
  private static let clockWarning: Int64 = 2000
  /// Milliseconds; APNs refuses provider tokens an hour off, and daily limits turn at the wrong time.
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
      : Finding("redis version", .fail, "\(version) lacks commands that queues need", fix: "run Redis 6.2 or newer")
  }

  private var roleFinding: Finding? {
    guard let role, role != "master" else { return nil }
    return Finding(
      "redis role", .fail, "this server is a replica: nothing can be written",
      fix: "point REDIS_URL at the master, or at the sentinels with redis+sentinel://")
  }

  private var memoryFinding: Finding {
    guard let policy = memoryPolicy else { return RedisFacts.unknown("maxmemory-policy") }
    if policy == "noeviction" { return Finding("maxmemory-policy", .ok, policy) }
    let fix = "CONFIG SET maxmemory-policy noeviction, and in redis.conf"
    // Without a limit nothing is evicted yet.
    return maximumMemory == 0
      ? Finding("maxmemory-policy", .warn, "\(policy): jobs and devices vanish once maxmemory is set", fix: fix)
      : Finding("maxmemory-policy", .fail, "\(policy): a full Redis drops jobs and devices", fix: fix)
  }

  private var persistenceFinding: Finding {
    guard let isAppendOnly else { return RedisFacts.unknown("appendonly") }
    return isAppendOnly
      ? Finding("appendonly", .ok, "yes")
      : Finding(
        "appendonly", .warn, "no: a restart of Redis loses jobs and devices",
        fix: "CONFIG SET appendonly yes, and in redis.conf")
  }

  private var clockFinding: Finding {
    guard let difference = clockDifference else { return RedisFacts.unknown("clock") }
    let off = difference.magnitude
    let text = "Redis is \(off) ms \(difference < 0 ? "behind" : "ahead of") this machine"
    if off < RedisFacts.clockWarning { return Finding("clock", .ok, text) }
    return Finding(
      "clock", off < RedisFacts.clockFault ? .warn : .fail, text, fix: "let NTP set the clocks of both machines")
  }

  private static func unknown(_ check: String) -> Finding {
    Finding(check, .warn, "unknown: Redis does not tell this user", fix: "allow INFO and TIME, or ask who runs Redis")
  }
}

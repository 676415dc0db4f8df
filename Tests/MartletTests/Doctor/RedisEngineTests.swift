import Operations
import Program
import Testing

@testable import Martlet

/// What `martlet doctor` makes of the INFO of different servers.
struct RedisEngineTests {
  private static let redis6 = """
    # Server\r\nredis_version:6.2.14\r\nredis_mode:standalone\r\nos:Linux 6.1.0 x86_64\r\nexecutable:/usr/bin/redis-server\r
    # Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n# Persistence\r\naof_enabled:1\r
    # Replication\r\nrole:master\r\n
    """
  private static let redis7 = redis6.replacing("6.2.14", with: "7.0.15")
  private static let valkey8 = """
    # Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.8\r\nserver_mode:standalone\r
    executable:/usr/bin/valkey-server\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nrole:master\r\n
    """
  private static let keyDB = """
    # Server\r\nredis_version:6.3.4\r\nredis_mode:standalone\r\nexecutable:/usr/local/bin/keydb-server\r
    # Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\nrole:master\r\n# Keydb\r\nmvcc_depth:0\r\n
    """
  private static let dragonfly = """
    # Server\r\nredis_version:7.4.0\r\ndragonfly_version:df-v1.40.1\r\nredis_mode:standalone\r\narch_bits:64\r
    # Memory\r\nmaxmemory:4294967296\r\ncache_mode:store\r\nmaxmemory_policy:noeviction\r\n# Replication\r\nrole:master\r\n
    """
  private static let elastiCache = """
    # Server\r\nredis_version:7.1.0\r\nredis_mode:cluster\r\nos:Amazon ElastiCache\r\nexecutable:-\r\nconfig_file:-\r
    # Memory\r\nmaxmemory:13000000000\r\nmaxmemory_policy:volatile-lru\r\naof_enabled:0\r\nrole:master\r\n
    """

  private func findings(
    _ info: String, isCluster: Bool = false, _ change: (inout RedisFacts) -> Void = { _ in }
  ) -> [String: Finding] {
    var facts = RedisFacts(info: info)
    facts.clockDifference = 0
    change(&facts)
    return Dictionary(uniqueKeysWithValues: facts.findings(isCluster: isCluster).map { ($0.check, $0) })
  }

  @Test(arguments: [
    (redis6, "Redis 6.2.14"), (redis7, "Redis 7.0.15"), (valkey8, "Valkey 8.1.8"), (keyDB, "KeyDB 6.3.4"),
    (dragonfly, "Dragonfly 1.40.1"), (elastiCache, "Amazon ElastiCache 7.1.0"),
    ("redis_version:6.2.6\r\nupstash_version:1.12.0\r\n", "Upstash 1.12.0"),
  ])
  func `the engine is named with its own version`(info: String, name: String) {
    #expect(findings(info)["redis version"] == Finding("redis version", .ok, name))
  }

  @Test(arguments: [redis6, redis7, valkey8])
  func `an engine that is tested with Martlet has no finding to act on`(info: String) {
    #expect(Set(findings(info).values.map(\.severity)) == [.ok])
  }

  @Test(arguments: [keyDB, dragonfly, elastiCache])
  func `an engine that is not tested with Martlet has a note`(info: String) {
    #expect(findings(info)["redis engine"]?.severity == .fact)
  }

  @Test func `KeyDB that replicates in both directions fails`() {
    let role = findings(Self.keyDB.replacing("role:master", with: "role:active-replica"))
    #expect(role["redis replication"]?.severity == .problem)
    #expect(role["redis role"] == nil)
    let setting = findings(Self.keyDB) { $0.activeSettings = ["active-replica": "no", "multi-master": "yes"] }
    #expect(setting["redis replication"]?.severity == .problem)
    #expect(setting["redis replication"]?.text.contains("(multi-master)") == true)
    #expect(findings(Self.keyDB)["redis replication"]?.severity == .warning)
    let single = findings(Self.keyDB) { $0.activeSettings = ["active-replica": "no", "multi-master": "no"] }
    #expect(single["redis replication"] == nil)
  }

  @Test func `eviction says what it deletes`() {
    let volatile = findings(Self.elastiCache, isCluster: true)["maxmemory-policy"]
    #expect(volatile?.severity == .problem)
    #expect(
      volatile?.text
        == "volatile-lru: a full Redis deletes devices, records and heartbeats (a worker without one is taken for dead)"
    )
    let all = findings(Self.redis7.replacing("noeviction", with: "allkeys-lru"))["maxmemory-policy"]
    #expect(all?.severity == .warning)
    #expect(all?.text == "allkeys-lru: jobs, devices and heartbeats will be deleted once maxmemory is set")
  }

  @Test func `a server of a cluster needs the URL of a cluster`() {
    #expect(findings(Self.elastiCache)["redis mode"]?.severity == .problem)
    #expect(findings(Self.elastiCache, isCluster: true)["redis mode"] == nil)
    #expect(
      findings(Self.valkey8.replacing("server_mode:standalone", with: "server_mode:cluster"))["redis mode"] != nil)
  }

  @Test func `what a service does not report is not taken for a missing permission`() {
    let persistence = findings(Self.dragonfly)["appendonly"]
    #expect(persistence?.severity == .warning)
    #expect(persistence?.text == "unknown: Dragonfly does not report whether it writes a log to disk")
  }

  @Test func `a refused INFO is quoted once`() {
    let refused = findings("") { $0.refusal = "NOPERM this user has no permissions to run the 'info' command" }
    #expect(refused["redis version"]?.text.contains("INFO is refused (NOPERM") == true)
    #expect(refused["maxmemory-policy"]?.text == "unknown: this user may not ask Redis")
    #expect(Set(refused.values.map(\.severity)) == [.warning, .ok])
  }
}

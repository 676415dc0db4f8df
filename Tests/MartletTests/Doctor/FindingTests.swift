import Operations
import Program
import Redis
import Testing

@testable import Worker
@testable import Martlet

struct FindingTests {
  private func decisions(_ change: (inout RedisFacts) -> Void) -> [String: Finding.Severity] {
    var facts = RedisFacts(
      info:
        "# Server\r\nredis_version:7.0.15\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n"
    )
    facts.clockDifference = 0
    change(&facts)
    return Dictionary(uniqueKeysWithValues: facts.findings().map { ($0.subject ?? "", $0.severity) })
  }

  @Test func `a Redis with the right settings has no fault`() {
    #expect(Set(decisions { _ in }.values) == [.ok])
  }

  @Test(arguments: [
    ("6.2.0", Finding.Severity.ok), ("10.0", .ok), ("255.255.255", .ok), ("6.0.16", .problem), ("5", .problem),
    ("x", .problem),
  ])
  func `the version must be 6.2 or newer`(version: String, status: Finding.Severity) {
    #expect(decisions { $0.info.version = version }["redis version"] == status)
  }

  @Test(arguments: [
    (Int64(0), Finding.Severity.ok), (1999, .ok), (-1999, .ok), (2000, .warning), (-2000, .warning),
    (300_000, .problem),
    (.min, .problem),
  ])
  func `clocks may differ by less than 2 seconds`(difference: Int64, status: Finding.Severity) {
    #expect(decisions { $0.clockDifference = difference }["clock"] == status)
  }

  @Test func `eviction fails only with maxmemory`() {
    #expect(decisions { $0.info.memoryPolicy = "allkeys-lru" }["maxmemory-policy"] == .warning)
    #expect(
      decisions { ($0.info.memoryPolicy, $0.info.maximumMemory) = ("volatile-ttl", 1) }["maxmemory-policy"] == .problem)
  }

  @Test func `a replica fails, and a Redis without INFO is unknown`() {
    #expect(decisions { $0.info.role = "slave" }["redis role"] == .problem)
    #expect(Set(RedisFacts(info: "").findings().map(\.severity)) == [.warning])
  }

  @Test func `open files and time zones have thresholds`() {
    #expect(MachineExamination.descriptors(20_000).severity == .ok)
    #expect(MachineExamination.descriptors(.max).severity == .ok)
    #expect(MachineExamination.descriptors(1024).severity == .warning)
    #expect(MachineExamination.descriptors(64).severity == .problem)
    #expect(MachineExamination.descriptors(nil).severity == .warning)
    #expect(MachineExamination.zones(nil) { _ in true }.severity == .ok)
    #expect(MachineExamination.zones(nil) { _ in false }.severity == .warning)
    #expect(MachineExamination.zones("Europe/Berlin") { _ in false }.severity == .problem)
    #expect(MachineExamination.zones("Mars/Base") { $0 == "UTC" }.severity == .problem)
    #expect(MachineExamination.zones("Europe/Berlin") { _ in true }.severity == .ok)
  }

  @Test func `a report has a line for each finding`() {
    let findings = [Finding("a", .ok, "fine"), Finding("longer", .problem, "bad \"x\"", fix: "do this")]
    #expect(DoctorReport.text(findings) == "ok    a       fine\nfail  longer  bad \"x\"; do this\n")
    #expect(
      DoctorReport.json(findings) == """
        {"check":"a","status":"ok","text":"fine"}
        {"check":"longer","status":"fail","text":"bad \\"x\\"","fix":"do this"}

        """)
  }

  private func findings(_ changes: [String: String]) throws -> [String: Finding.Severity] {
    let values = ["REDIS_URL": "redis://localhost"].merging(changes) { $1 }
    let findings = SidecarExamination(
      settings: try SidecarSettings(environment: values),
      adminAddress: try WorkerSettings(environment: values).service.adminAddress,
      isEnvironmentNamed: values["MARTLET_ENV"] != nil
    ).findings()
    return Dictionary(uniqueKeysWithValues: findings.map { ($0.subject ?? "", $0.severity) })
  }

  @Test(arguments: [
    "127.0.0.1:8080", "127.8.9.10:80", "localhost:8080", "[::1]:8080", "[::ffff:127.0.0.1]:80", "unix:/run/m",
  ])
  func `a local address is ok`(address: String) throws {
    let changes = [
      "MARTLET_HTTP_ADDRESS": address, "MARTLET_PUSH_SERVER_OPEN": "true", "MARTLET_ADMIN_ADDRESS": address,
    ]
    #expect(try findings(changes) == ["sidecar": .ok])
  }

  @Test(arguments: ["0.0.0.0:8080", "[::]:8080", "10.0.0.1:80", "127.example:80", "host.example:80", "[::2]:80"])
  func `any other address has a finding`(address: String) throws {
    #expect(try findings(["MARTLET_HTTP_ADDRESS": address]) == ["sidecar": .ok, "origins": .fact])
    #expect(try findings(["MARTLET_HTTP_ADDRESS": address, "MARTLET_ENV": "production"]) == ["sidecar": .ok])
    let open = ["MARTLET_HTTP_ADDRESS": address, "MARTLET_PUSH_SERVER_OPEN": "true", "MARTLET_ENV": "production"]
    #expect(try findings(open) == ["sidecar": .warning])
    #expect(try findings(["MARTLET_ADMIN_ADDRESS": address]) == ["sidecar": .ok, "admin port": .fact])
  }
}

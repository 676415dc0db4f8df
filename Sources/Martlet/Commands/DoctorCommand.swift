import Worker

/// `martlet doctor`: whether everything is there that delivery needs.
enum DoctorCommand: Command {
  static let name = "doctor"
  static let summary = "check settings, Redis, the provider key and APNs"
  static let help = """
    usage: martlet doctor [--json]

    Checks every setting, Redis (reachable, version, noeviction, AOF, clock, the keys of the queues), the provider key, a
    connection to APNs (nothing is sent), whom the HTTP services let in, the limit of open files and the time zones. One line
    each: ok, note, warn or fail, what was found, and how to fix it. --json prints {"check","status","text","fix"}, one per line.

    Exit 0 when nothing failed, 1 when something did, 2 when settings are wrong.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words, flags: ["json"])
    try line.refuseArguments()
    let values = EnvironmentReader.processValues
    let (configuration, sidecar, faults) = settings(values)
    var findings = faults.map { Finding("settings", .fail, "\($0.name): \($0.seen)", fix: "expected \($0.expected)") }
    if findings.isEmpty { findings.append(Finding("settings", .ok, "all can be used")) }
    findings += MachineExamination(timeZone: EnvironmentReader(values).string("MARTLET_TIME_ZONE")).findings()
    if let configuration, let sidecar {
      findings += SidecarExamination(
        settings: sidecar, adminAddress: configuration.adminAddress,
        isEnvironmentNamed: EnvironmentReader(values).string("MARTLET_ENV") != nil
      ).findings()
    }
    if let configuration {
      findings += await RedisExamination(endpoint: configuration.redis, queues: configuration.queues).findings()
      findings += try await GatewayExamination(configuration: configuration.apns).findings()
    } else {
      findings.append(
        Finding("redis, apns", .note, "not examined", fix: "fix the settings first, then run doctor again"))
    }
    Console.print(line.has("json") ? DoctorReport.json(findings) : DoctorReport.text(findings))
    guard faults.isEmpty else { return .wrongUsage }
    return findings.contains { $0.status == .fail } ? .failed : .done
  }

  /// What either service would run with, and what is wrong with the settings, each once.
  private static func settings(
    _ values: [String: String]
  ) -> (WorkerConfiguration?, SidecarSettings?, [EnvironmentReader.Fault]) {
    var configuration: WorkerConfiguration?
    var sidecar: SidecarSettings?
    var faults: [EnvironmentReader.Fault] = []
    do {
      configuration = try WorkerConfiguration(environment: values)
    } catch {
      faults += error.faults
    }
    do {
      sidecar = try SidecarSettings(environment: values)
    } catch {
      faults += error.faults.filter { !faults.contains($0) }
    }
    return (configuration, sidecar, faults)
  }
}

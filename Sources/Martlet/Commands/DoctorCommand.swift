import Dashboard
import EventLoop
import HTTPServer
import JSON
import Operations
import Program
import Sidecar
import Usage
import Worker

/// `martlet doctor`: checks everything that delivery needs.
enum DoctorCommand: Command {
  static let usage = CommandUsage(
    "martlet doctor", "check settings, Redis, the provider key and APNs", [],
    Parts.all.flatMap { $0.doctorFlags } + [.init("json", "print JSON, one object a line")],
    text: """
      Checks every setting, Redis (connection, version, noeviction, AOF, clock, keys of the queues), the provider key, the
      apps of MARTLET_APPS and their keys, the connection to each gateway of APNs, which key APNs accepts for each app and
      environment (asked with a token that no device has), who can reach the HTTP services, their TLS certificate, the limit
      of open files and the time zones. If an app has broadcast channels, asks without credentials which origins manage them
      and take broadcasts.

      Prints one line for each check: the status (ok, note, warn or fail), what was checked, what was found and how to fix
      it. As JSON: {"check","status","text","fix"}.

      Exit code 0 if no check failed, 1 if one failed, 2 if settings are invalid.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let values = environment.values
    var faults: [InvalidValue] = []
    let (worker, sidecar, dashboard) = AllConfiguration.read(values, &faults)
    var findings = faults.map {
      Finding("settings", .problem, "\($0.title): \($0.seen)", fix: "expected \($0.expected)")
    }
    if findings.isEmpty { findings.append(Finding("settings", .ok, "all are valid")) }
    findings += MachineExamination(timeZone: EnvironmentReader(values).string("MARTLET_TIME_ZONE")).findings()
    if let worker, let sidecar {
      findings += SidecarExamination(
        settings: sidecar, adminAddress: worker.service.adminAddress,
        isEnvironmentNamed: EnvironmentReader(values).string("MARTLET_ENV") != nil
      ).findings()
      if let address = dashboard?.dashboard?.listener.address {
        findings.append(SidecarExamination.finding(ofDashboard: address))
      }
      if let certificate = sidecar.http.listener.certificate {
        findings.append(CertificateExamination(certificate: certificate).finding(at: Clock.unixMilliseconds / 1000))
      }
    }
    if let configuration = worker?.worker {
      findings += await RedisExamination(endpoint: configuration.redis, queues: configuration.queues).findings()
      if configuration.apns != nil || configuration.apps.isEmpty {
        findings += await GatewayExamination(configuration: configuration.apns).findings()
      }
      findings += await AppsExamination(apps: configuration.apps, bundleID: configuration.bundleID).findings()
      findings += BundleIDExamination(
        apps: configuration.apps, configuration: configuration.apns, bundleID: configuration.bundleID
      ).findings()
      findings += await KeyExamination(
        apps: configuration.apps, configuration: configuration.apns, bundleID: configuration.bundleID
      ).findings()
      for part in Parts.all {
        findings += await part.examine(configuration, Set(part.doctorFlags.map(\.name).filter(line.has)))
      }
    } else {
      findings.append(
        Finding("redis, apns", .fact, "not checked", fix: "fix the settings first, then run doctor again"))
    }
    Console.print(line.has("json") ? DoctorReport.json(findings) : DoctorReport.text(findings))
    guard faults.isEmpty else { return .wrongUsage }
    return findings.contains { $0.severity == .problem } ? .failed : .done
  }
}

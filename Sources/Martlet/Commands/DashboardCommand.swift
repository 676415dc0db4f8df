import EventLoop
import Program
import Telemetry
import Usage

/// `martlet dashboard`: serves the web dashboard.
enum DashboardCommand: Command {
  static let usage = CommandUsage(
    "martlet dashboard", "serve pages for operators",
    text: """
      Serves pages that show the fleet, each job and each user's devices, with buttons to act, on MARTLET_DASHBOARD_ADDRESS
      (default \(DashboardSettings.defaultAddress); port 0: any free port). With off it does not start (exit code 2); martlet
      all then runs without it. /healthz, /readyz and /metrics are on MARTLET_ADMIN_ADDRESS (default
      \(DashboardSettings.defaultAdminAddress); off, or port 0 for any free port). Reads its settings from the environment
      and reports every fault at once (exit code 2).

      Operators sign in with a name and a secret. martlet credentials add operator makes the secret, for a viewer, operator
      or admin. Without operators the dashboard is for this machine only: on an address that others can reach it does not
      start (exit code 2).

      With MARTLET_HTTP_CERT and MARTLET_HTTP_KEY (PEM files) it is HTTPS only. SIGHUP: reads both files again. SIGTERM or
      SIGINT: finishes open requests within MARTLET_SHUTDOWN_GRACE, exits with 0. A second signal: exits at once.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    _ = try CommandLineWords(words, of: self)
    let settings = try DashboardSettings(environment: environment.values)
    guard let configuration = settings.dashboard else {
      throw CommandError.refused("\(Setting.dashboardAddress.name) is off: set it to host:port, or remove it")
    }
    let (metrics, log) = (Metrics(), Log(level: settings.service.logLevel))
    let certificate = ServedCertificate(settings.http, metrics: metrics, log: log)
    let dashboard = DashboardService(settings, configuration, certificate: certificate, metrics: metrics, log: log)
    let admin = AdminPort(settings.service, metrics: metrics, log: log) { dashboard.readiness }
    try await ServiceList([admin, dashboard], reloads: [certificate?.reload], log: log).run()
    return .done
  }
}

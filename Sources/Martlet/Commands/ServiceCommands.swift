import EventLoop
import Usage
import HTTPServer
import JSON
import Program
import Telemetry
import Worker

/// `martlet worker`: consumes jobs and delivers them.
enum WorkerCommand: Command {
  static let usage = CommandUsage(
    "martlet worker", "consume jobs and deliver them",
    text: """
      Claims jobs from the Redis lists of MARTLET_QUEUES (in strict order), sends them to APNs and writes their records.
      /healthz, /readyz and /metrics are on MARTLET_ADMIN_ADDRESS (default \(WorkerSettings.defaultAdminAddress); off, or
      port 0 for any free port). Reads its settings from the environment and reports every fault at once (exit code 2).

      SIGTERM or SIGINT: stops claiming, finishes within MARTLET_SHUTDOWN_GRACE, hands the other jobs back, exits with 0. A
      second signal: hands all jobs back and exits at once. SIGHUP: reads every file that a setting names again
      (APNS_KEY_PATH, APNS_CA_CERT, MARTLET_APPS, MARTLET_POLICY_FILE, REDIS_URL_FILE and the certificates of Redis) and
      says what has changed; what cannot be used stays as it was. The files of Redis are read for each connection, too.

      MARTLET_APPS names a JSON file with the apps of several teams: their bundle ids, keys (one or two each) and gateways.
      The bundle id of the job, else of the device, chooses the app; the APNS_* settings are for all others.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    _ = try CommandLineWords(words, of: self)
    let values = environment.values
    let settings = try WorkerSettings(environment: values)
    let log = Log(level: settings.service.logLevel)
    let worker = WorkerService(settings.worker, log: log)
    let admin = AdminPort(settings.service, metrics: worker.metrics, log: log) { worker.readiness }
    let apps = ServedApps(values, settings.worker, worker, log: log)
    let redis = ServedSetting.redis(settings.service.redis, values, log: log)
    try await ServiceList(
      [admin] + worker.services, reloads: [apps?.reload, redis?.reload] + worker.reloads, log: log
    ).run()
    return .done
  }
}

/// `martlet sidecar`: serves the HTTP APIs.
enum SidecarCommand: Command {
  static let usage = CommandUsage(
    "martlet sidecar", "register devices over HTTP",
    text: """
      Serves the HTTP APIs on MARTLET_HTTP_ADDRESS; /openapi.json describes every route. /healthz, /readyz and /metrics are
      on MARTLET_ADMIN_ADDRESS (default \(SidecarSettings.defaultAdminAddress); off, or port 0 for any free port). Starts
      without Redis or APNs settings, logs that, and names the missing settings in its answers. Without Redis /readyz is
      503. Reads its settings from the environment and reports every fault at once (exit code 2).

      A user has at most MARTLET_MAX_DEVICES devices in an app (1 to 1000, default 100). One more replaces the one of them
      registered longest ago.

      With MARTLET_HTTP_CERT and MARTLET_HTTP_KEY (PEM files) MARTLET_HTTP_ADDRESS is HTTPS only. SIGHUP: reads both files
      again; new connections get the new certificate, and no request is lost. If they cannot be used, the certificate in use
      stays. The files of MARTLET_APPS and APNS_KEY_PATH, for test pushes, MARTLET_MATRIX and REDIS_URL_FILE are read again
      too.

      SIGTERM or SIGINT: finishes open requests within MARTLET_SHUTDOWN_GRACE, exits with 0. A second signal: exits at once.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    _ = try CommandLineWords(words, of: self)
    let values = environment.values
    let settings = try SidecarSettings(environment: values)
    let (metrics, log) = (Metrics(), Log(level: settings.service.logLevel))
    let certificate = ServedCertificate(settings.http, metrics: metrics, log: log)
    let sidecar = SidecarService(settings, values, certificate: certificate, metrics: metrics, log: log)
    let redis = ServedSetting.redis(settings.service.redis, values, log: log)
    let admin = AdminPort(settings.service, metrics: metrics, log: log) { sidecar.readiness }
    try await ServiceList(
      [admin, sidecar],
      reloads: [certificate?.reload, sidecar.apps?.reload, redis?.reload] + sidecar.reloads, log: log
    ).run()
    return .done
  }
}

/// `martlet all`: runs a worker, a sidecar and a dashboard in one process.
enum AllCommand: Command {
  static let usage = CommandUsage(
    "martlet all", "run a worker, a sidecar and a dashboard in one process",
    text: """
      Runs martlet worker, martlet sidecar and martlet dashboard in one process, for small installations. Reads the settings
      of all. The admin port of the worker has the metrics of all. SIGHUP does what it does for each of them.
      MARTLET_DASHBOARD_ADDRESS=off: without the dashboard.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    _ = try CommandLineWords(words, of: self)
    let values = environment.values
    let configuration = try AllConfiguration(environment: values)
    let settings = configuration.worker
    let log = Log(level: settings.service.logLevel)
    let worker = WorkerService(settings.worker, log: log)
    let metrics = worker.metrics
    let certificate = ServedCertificate(configuration.sidecar.http, metrics: metrics, log: log)
    let sidecar = SidecarService(
      configuration.sidecar, values, beside: worker, certificate: certificate, metrics: metrics, log: log)
    let dashboard = configuration.dashboard.dashboard.map {
      DashboardService(
        configuration.dashboard, $0, beside: worker, certificate: certificate, metrics: metrics, log: log)
    }
    let admin = AdminPort(settings.service, metrics: metrics, log: log) { worker.readiness }
    let apps = ServedApps(values, settings.worker, worker, log: log)
    let redis = ServedSetting.redis(settings.service.redis, values, log: log)
    // The dashboard before the others, because it may refuse to start before there are jobs in hand.
    try await ServiceList(
      [admin, dashboard, sidecar] + worker.services,
      reloads: [
        certificate?.reload, sidecar.apps?.reload, apps?.reload, redis?.reload,
      ] + sidecar.reloads + worker.reloads, log: log
    ).run()
    return .done
  }
}

/// The settings of all services of `martlet all`.
package struct AllConfiguration {
  let worker: WorkerSettings
  let sidecar: SidecarSettings
  let dashboard: DashboardSettings

  /// Throws the faults of all, each once.
  init(environment values: [String: String]) throws(ConfigurationFaults) {
    var faults: [InvalidValue] = []
    let (worker, sidecar, dashboard) = AllConfiguration.read(values, &faults)
    guard let worker, let sidecar, let dashboard else { throw ConfigurationFaults(faults) }
    self.worker = worker
    self.sidecar = sidecar
    self.dashboard = dashboard
  }

  /// Reads the settings of each service, nil for those with faults. Adds the faults that are not known yet.
  static func read(
    _ values: [String: String], _ faults: inout [InvalidValue]
  ) -> (worker: WorkerSettings?, sidecar: SidecarSettings?, dashboard: DashboardSettings?) {
    (
      read(&faults) { () throws(ConfigurationFaults) in try WorkerSettings(environment: values) },
      read(&faults) { () throws(ConfigurationFaults) in try SidecarSettings(environment: values) },
      read(&faults) { () throws(ConfigurationFaults) in try DashboardSettings(environment: values) }
    )
  }

  private static func read<Settings>(
    _ faults: inout [InvalidValue], _ body: () throws(ConfigurationFaults) -> Settings
  ) -> Settings? {
    do {
      return try body()
    } catch {
      faults += error.faults.filter { !faults.contains($0) }
      return nil
    }
  }
}

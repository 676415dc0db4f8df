import EventLoop
import HTTPServer
import Telemetry
import Worker

/// `martlet worker`: consumes jobs and delivers them.
enum WorkerCommand: Command {
  static let name = "worker"
  static let summary = "consume jobs and deliver them"
  static let help = """
    usage: martlet worker

    Claims jobs from the Redis lists of MARTLET_QUEUES (in strict order), sends them to APNs and writes their records.
    /healthz, /readyz and /metrics are on MARTLET_ADMIN_ADDRESS (default \(WorkerConfiguration.defaultAdminAddress); off, or port 0 for any free port).
    Reads its settings from the environment and reports every fault at once (exit code 2).

    SIGTERM or SIGINT: stops claiming, finishes within MARTLET_SHUTDOWN_GRACE, hands the other jobs back, exits with 0.
    A second signal: hands all jobs back and exits at once. SIGHUP: reads the file of MARTLET_APPS again; without one it
    changes nothing.

    MARTLET_APPS names a JSON file with the apps of several teams: their bundle ids, keys (one or two each) and gateways.
    The bundle id of the job, else of the device, chooses the app; the APNS_* settings are for all others.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words)
    try line.refuseArguments()
    return try await serve(try WorkerConfiguration(environment: EnvironmentReader.processValues))
  }

  @EventLoop
  private static func serve(_ configuration: WorkerConfiguration) async throws -> ExitCode {
    let log = Log(level: configuration.logLevel)
    let service = WorkerService(configuration, log: log)
    service.metrics.addProcess(version: Version.current)
    try service.start()
    let apps = ServedApps(configuration, clients: service.clients, log: log)
    apps?.onChange = { [weak service] in service?.configure(appShares: .init($0)) }
    Reload.use(apps?.reload, log: log)
    await Termination.wait { stopped in service.stop(then: stopped) }
    return .done
  }
}

/// `martlet sidecar`: serves the HTTP APIs.
enum SidecarCommand: Command {
  static let name = "sidecar"
  static let summary = "register devices over HTTP"
  static let help = """
    usage: martlet sidecar

    Serves the HTTP APIs on MARTLET_HTTP_ADDRESS; /openapi.json describes every route. /healthz, /readyz and /metrics are
    on MARTLET_ADMIN_ADDRESS (default 127.0.0.1:9091; off, or port 0 for any free port). Starts without Redis or APNs
    settings, logs that, and names the missing settings in its answers. Without Redis /readyz is 503.
    Reads its settings from the environment and reports every fault at once (exit code 2).

    A user has at most MARTLET_MAX_DEVICES devices in an app (1 to 1000, default 100). One more replaces the one of them
    registered longest ago.

    With MARTLET_HTTP_CERT and MARTLET_HTTP_KEY (PEM files) MARTLET_HTTP_ADDRESS is HTTPS only. SIGHUP: reads both files again;
    new connections get the new certificate, and no request is lost. If they cannot be used, the certificate in use stays.
    The file of MARTLET_APPS, for test pushes, is read again too.

    SIGTERM or SIGINT: finishes open requests within MARTLET_SHUTDOWN_GRACE, exits with 0. A second signal: exits at once.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words)
    try line.refuseArguments()
    return try await serve(try SidecarSettings(environment: EnvironmentReader.processValues))
  }

  @EventLoop
  private static func serve(_ settings: SidecarSettings) async throws -> ExitCode {
    let metrics = Metrics()
    metrics.addProcess(version: Version.current)
    let log = Log(level: settings.logLevel)
    let service = SidecarService(settings, metrics: metrics, log: log)
    try service.start()
    Reload.use(service.reload, log: log)
    await Termination.wait { stopped in service.stop(then: stopped) }
    return .done
  }
}

/// `martlet all`: runs a worker, a sidecar and a dashboard in one process.
enum AllCommand: Command {
  static let name = "all"
  static let summary = "run a worker, a sidecar and a dashboard in one process"
  static let help = """
    usage: martlet all

    Runs martlet worker, martlet sidecar and martlet dashboard in one process, for small installations. Reads the settings of
    all. The admin port of the worker has the metrics of all. SIGHUP does what it does for each of them.
    MARTLET_DASHBOARD_ADDRESS=off: without the dashboard.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words)
    try line.refuseArguments()
    return try await serve(try AllConfiguration(environment: EnvironmentReader.processValues))
  }

  @EventLoop
  private static func serve(_ configuration: AllConfiguration) async throws -> ExitCode {
    let log = Log(level: configuration.worker.logLevel)
    let worker = WorkerService(configuration.worker, log: log)
    worker.metrics.addProcess(version: Version.current)
    let sidecar = SidecarService(
      configuration.sidecar, metrics: worker.metrics, clients: worker.clients, eventMetrics: worker.eventMetrics,
      isAlone: false, log: log)
    let dashboard = configuration.dashboard.dashboard.map {
      DashboardService(
        $0, configuration.dashboard, metrics: worker.metrics, eventMetrics: worker.eventMetrics,
        certificate: sidecar.certificate, isAlone: false, log: log
      )
    }
    // First, because it may refuse to start before there are jobs in hand.
    do {
      try await dashboard?.start()
    } catch let error as HTTPServerError where !configuration.dashboard.isAddressSet {
      // Deliveries must not depend on a port that nobody asked for.
      log.warn(
        "the dashboard is not served",
        [
          "reason": .init("\(error)"),
          "fix": .init("set \(DashboardSettings.setting) to another address, or to off"),
        ])
    }
    try sidecar.start()
    try worker.start()
    let apps = ServedApps(configuration.worker, clients: worker.clients, log: log)
    apps?.onChange = { [weak worker] in worker?.configure(appShares: .init($0)) }
    Reload.use(Reload.both(sidecar.reload, apps?.reload), log: log)
    await Termination.wait { stopped in
      worker.stop(
        others: { ended in
          sidecar.stop { if let dashboard { dashboard.stop(then: ended) } else { ended() } }
        }, then: stopped)
    }
    return .done
  }
}

/// The settings of all services of `martlet all`.
package struct AllConfiguration {
  let worker: WorkerConfiguration
  let sidecar: SidecarSettings
  let dashboard: DashboardSettings

  /// Throws the faults of all, each once.
  init(environment values: [String: String]) throws(ConfigurationFaults) {
    var faults: [ConfigurationFaults.Fault] = []
    let worker = AllConfiguration.read(&faults) { () throws(ConfigurationFaults) in
      try WorkerConfiguration(environment: values)
    }
    let sidecar = AllConfiguration.read(&faults) { () throws(ConfigurationFaults) in
      try SidecarSettings(environment: values)
    }
    let dashboard = AllConfiguration.read(&faults) { () throws(ConfigurationFaults) in
      try DashboardSettings(environment: values)
    }
    guard let worker, let sidecar, let dashboard else { throw ConfigurationFaults(faults) }
    self.worker = worker
    self.sidecar = sidecar
    self.dashboard = dashboard
  }

  /// Returns what `body` reads, or nil if it has faults, which are added unless they are known.
  private static func read<Settings>(
    _ faults: inout [ConfigurationFaults.Fault], _ body: () throws(ConfigurationFaults) -> Settings
  ) -> Settings? {
    do {
      return try body()
    } catch {
      faults += error.faults.filter { !faults.contains($0) }
      return nil
    }
  }
}

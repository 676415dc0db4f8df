import EventLoop
import Telemetry

/// `martlet sidecar`: the HTTP registration service.
enum SidecarCommand: Command {
  static let name = "sidecar"
  static let summary = "register devices over HTTP"
  static let help = """
    usage: martlet sidecar

    Serves the registration documents on MARTLET_HTTP_ADDRESS; /openapi.json describes every route. /healthz, /readyz and
    /metrics are on MARTLET_ADMIN_ADDRESS (default 127.0.0.1:9091; off, or port 0 for any free one). Starts without Redis or
    APNs settings, says so, and names in its answers what is missing; without Redis /readyz is 503.
    Reads its configuration from the environment and reports every fault of it at once (exit 2).

    A user has at most MARTLET_MAX_DEVICES devices (1 to 1000, default 100): with one more the one registered longest ago
    leaves.

    SIGTERM or SIGINT: finish the requests under way within MARTLET_SHUTDOWN_GRACE, exit 0. A second one: exit at once.

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
    let service = SidecarService(settings, metrics: metrics, log: Log(level: settings.logLevel))
    try service.start()
    await Termination.awaited { stopped in service.stop(then: stopped) }
    return .done
  }
}

import EventLoop
import Telemetry

/// `martlet all`: worker and sidecar in one process.
enum AllCommand: Command {
  static let name = "all"
  static let summary = "worker and sidecar in one process"
  static let help = """
    usage: martlet all

    What martlet worker and martlet sidecar do, in one process: for small installations. Settings are those of both.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words)
    guard line.positional.isEmpty else { throw CommandLineWords.Misuse(message: "takes no arguments") }
    let values = EnvironmentReader.processValues
    return try await serve(try WorkerConfiguration(environment: values), try SidecarSettings(environment: values))
  }

  @EventLoop
  private static func serve(_ configuration: WorkerConfiguration, _ settings: SidecarSettings) async throws -> ExitCode
  {
    let log = Log(level: configuration.logLevel)
    let worker = WorkerService(configuration, log: log)
    let sidecar = SidecarService(settings, metrics: worker.metrics, client: worker.client, log: log)
    try sidecar.start()
    try worker.start()
    await Termination.awaited { stopped in
      worker.stop(others: sidecar.stop, then: stopped)
    }
    return .done
  }
}

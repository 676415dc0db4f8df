import Worker
import EventLoop
import Telemetry

/// `martlet all`: worker and sidecar in one process.
enum AllCommand: Command {
  static let name = "all"
  static let summary = "worker and sidecar in one process"
  static let help = """
    usage: martlet all

    What martlet worker and martlet sidecar do, in one process: for small installations. Settings are those of both. One admin
    port, the worker's, has the metrics of both.

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
      configuration.sidecar, metrics: worker.metrics, client: worker.client, isAlone: false, log: log)
    try sidecar.start()
    try worker.start()
    await Termination.awaited { stopped in
      worker.stop(others: sidecar.stop, then: stopped)
    }
    return .done
  }
}

import Worker
import EventLoop
import Telemetry

/// `martlet worker`: the main job.
enum WorkerCommand: Command {
  static let name = "worker"
  static let summary = "consume jobs and deliver them"
  static let help = """
    usage: martlet worker

    Takes jobs from the Redis lists of MARTLET_QUEUES (strict order), sends them to APNs and writes down what happened.
    Reads its configuration from the environment and reports every fault of it at once (exit 2).

    SIGTERM or SIGINT: stop claiming, finish within MARTLET_SHUTDOWN_GRACE, hand the rest back, exit 0.
    A second one: exit at once, jobs handed back.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words)
    try line.refuseArguments()
    let configuration = try WorkerConfiguration(environment: EnvironmentReader.processValues)
    return try await serve(configuration)
  }

  @EventLoop
  private static func serve(_ configuration: WorkerConfiguration) async throws -> ExitCode {
    let service = WorkerService(configuration, log: Log(level: configuration.logLevel))
    service.metrics.addProcess(version: Version.current)
    try service.start()
    await Termination.awaited { stopped in service.stop(then: stopped) }
    return .done
  }
}

import EventLoop
import Jobs
import Queue
import Redis

/// `martlet cancel`: keeps a job from being sent.
enum CancelCommand: Command {
  static let name = "cancel"
  static let summary = "cancel a job"
  static let help = """
    usage: martlet cancel ID [--queue LIST] [--json]

    Cancels the job with this id in the queues of MARTLET_QUEUES (or of --queue), and prints the result. If the job
    is in flight, its remaining pushes are not sent. A broadcast stops after its current pages. The record says
    `cancelled`, and what had been accepted. A job that is not found at either end of a long queue is cancelled when a
    worker takes it, within 7 days; so is one that waits there under the id of a job that has ended.

    Exit code 0 if the job is not sent (any further), 1 if it has been sent, is dead, or is not known.

    """

  private static let patience = Duration.seconds(5)

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words, options: ["queue"], flags: ["json"])
    guard line.positional.count == 1 else { throw CommandError.usage("expected one job id") }
    let id = line.positional[0]
    guard Job.isID(id) else { throw CommandError.usage("a job id has \(Job.idRule)") }
    var timeToLive = Duration.seconds(24 * 3600)
    let configuration = try ClientConfiguration(environment: EnvironmentReader.processValues) { reader in
      timeToLive = reader.duration("MARTLET_RESULT_TTL", default: timeToLive)
    }
    let queues = try line.queue().map { [$0] } ?? configuration.queues
    let recordTimeToLive = timeToLive
    let outcome = try await configuration.withConnection { connection in
      let control = JobControl(queues: queues, connection: connection, recordTimeToLive: recordTimeToLive)
      return try await cancel(id, control)
    }
    Console.print(line.has("json") ? outcome.json(id) : "\(outcome.sentence)\n")
    return outcome.isStopped ? .done : .failed
  }

  /// Cancels, and waits a few seconds for the worker that has the job.
  @EventLoop
  static func cancel(_ id: String, _ control: JobControl) async throws -> CancelOutcome {
    let answer = try await control.cancel(id)
    guard case .marked(let location) = answer else { return CancelOutcome(answer) }
    return CancelOutcome(try await control.follow(location, within: patience))
  }
}

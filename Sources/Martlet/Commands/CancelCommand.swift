import EventLoop
import Jobs
import Operations
import Program
import Queue
import Redis
import Usage

/// `martlet cancel`: keeps a job from being sent.
enum CancelCommand: Command {
  static let usage = CommandUsage(
    "martlet cancel", "cancel a job", [.id], [.queue, .json],
    text: """
      Cancels the job with this id in the queues of MARTLET_QUEUES, and prints the result. If the job is in flight, its
      remaining pushes are not sent. A broadcast stops after its current pages. The record says `cancelled`, and what had
      been accepted. A waiting job is cancelled when a worker takes it.

      The id stays cancelled for 24 h, or until its dead letter is requeued: a job that is enqueued with it meanwhile is
      not sent. That includes the id of a job that was not found, has ended or is dead.

      Exit code 0 if the job is not sent (any further), 1 if it has been sent, is dead, or is still in flight after 5 s.
      """)

  /// How long a job in flight is waited for. Its worker knows of the cancellation within a second.
  private static let patience = Duration.seconds(5)
  private static let pause = Duration.milliseconds(100)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let id = line.arguments[0]
    guard Job.isID(id) else { throw CommandError.usage("a job id has \(Job.idRule)") }
    var recordTimeToLive = Duration.seconds(24 * 3600)
    let configuration = try ClientConfiguration(environment) { reader in
      recordTimeToLive = reader.duration(.resultLifetime)
    }
    let queues = try configuration.queues(of: line)
    return try await configuration.withConnection { connection in
      let fleet = FleetQueues(queues, connection: connection, recordTimeToLive: recordTimeToLive)
      return try await cancel(id, fleet, line)
    }
  }

  /// Cancels, waits a few seconds for the worker that has the job, and prints the result.
  @EventLoop
  static func cancel(_ id: String, _ fleet: FleetQueues, _ line: CommandLineWords) async throws -> ExitCode {
    let end = ContinuousClock.now + patience
    var answer = try await fleet.cancel(id)
    while case .marked(let location) = answer, case .inFlight = location.place, ContinuousClock.now < end {
      try await Task.sleep(for: pause)
      answer = try await fleet.cancelMarked(id)
    }
    let outcome = CancelOutcome(answer)
    Console.print(line.has("json") ? outcome.json(id) : "\(outcome.sentence)\n")
    return outcome.isStopped ? .done : .failed
  }
}

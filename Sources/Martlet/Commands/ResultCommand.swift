import Queue
import EventLoop
import Jobs
import Redis

/// `martlet result ID`: the record of a job.
enum ResultCommand: Command {
  static let name = "result"
  static let summary = "show the record of a job"
  static let help = """
    usage: martlet result ID [--json | --raw]

    Prints the record of a job as JSON, control characters escaped; with --raw its bytes as Redis has them. Exit 1 when there is none: the job has not been attempted yet, MARTLET_RESULTS
    keeps none of its kind, or MARTLET_RESULT_TTL is over.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words, flags: ["json", "raw"])
    guard line.positional.count == 1 else { throw CommandLineWords.Misuse(message: "expected one job id") }
    let id = line.positional[0]
    let configuration = try ClientConfiguration(environment: EnvironmentReader.processValues)
    let record = try await configuration.withConnection { connection in
      try await connection.send(RedisCommand("GET", QueueKeys.result(id)))
    }
    guard let bytes = record.bytes else {
      throw CommandFailure(message: "no record of job '\(id)': not attempted yet, not recorded, or expired")
    }
    if line.has("raw") {
      Console.printRaw(bytes)
    } else {
      Console.print(String(decoding: bytes, as: UTF8.self) + "\n")
    }
    return .done
  }
}

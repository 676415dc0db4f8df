import Queue
import EventLoop
import Jobs
import Redis

/// `martlet result ID`: shows the record of a job.
enum ResultCommand: Command {
  static let name = "result"
  static let summary = "show the record of a job"
  static let help = """
    usage: martlet result ID [--json | --raw]

    Prints the record of a job as JSON with escaped control characters, or with --raw its unchanged bytes.

    Exit code 1 if there is no record: the job has not been attempted yet, MARTLET_RESULTS excludes it, or
    MARTLET_RESULT_TTL has passed.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words, flags: ["json", "raw"])
    guard line.positional.count == 1 else { throw CommandError.usage("expected one job id") }
    let id = line.positional[0]
    let configuration = try ClientConfiguration()
    let record = try await configuration.withConnection { connection in
      try await connection.send(RedisCommand("GET", QueueKeys.result(id)))
    }
    guard let bytes = record.contents else {
      throw CommandError.failed("no record of job '\(id)': not attempted yet, not recorded, or expired")
    }
    if line.has("raw") {
      Console.printRaw(bytes)
    } else {
      Console.print(String(decoding: bytes, as: UTF8.self) + "\n")
    }
    return .done
  }
}

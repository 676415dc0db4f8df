import EventLoop
import Jobs
import Operations
import Program
import Queue
import Redis
import Usage

/// `martlet result ID`: shows the record of a job.
enum ResultCommand: Command {
  static let usage = CommandUsage(
    "martlet result", "show the record of a job", [.id],
    [.init("json", "print JSON on one line"), .init("raw", "print the bytes as Redis has them")],
    only: [["json", "raw"]],
    text: """
      Prints the record of a job as JSON with escaped control characters.

      Exit code 1 if there is no record: the job has not been attempted yet, MARTLET_RESULTS excludes it,
      MARTLET_RESULT_TTL has passed, or Redis was short of memory, which the message then says.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let id = line.arguments[0]
    let configuration = try ClientConfiguration(environment)
    let bytes = try await configuration.withConnection { connection in
      guard let record = try await connection.send(RedisCommand("GET", QueueKeys.result(id))).contents else {
        let absence = try await absence(configuration.queues, connection).map { "; or: \($0)" } ?? ""
        throw CommandError.failed("no record of job '\(id)': not attempted yet, not recorded, or expired\(absence)")
      }
      return record
    }
    if line.has("raw") {
      Console.printRaw(bytes)
    } else {
      Console.print(String(decoding: bytes, as: UTF8.self) + "\n")
    }
    return .done
  }

  /// What the workers say about memory; nil also if this user of Redis may not read that, as a producer's.
  private static func absence(_ queues: [String], _ connection: RedisClient) async throws(RedisError) -> String? {
    do {
      return MemoryReport.worst(
        try await QueueOverview.read(queues, from: connection).workers.values.compactMap(\.memory))?
        .absence
    } catch .reply {
      return nil
    }
  }
}

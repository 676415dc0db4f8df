import EventLoop
import Jobs
import JSON
import Program
import Redis
import Telemetry
import Usage

/// `martlet enqueue`: checks a job and queues it.
enum EnqueueCommand: Command {
  static let usage = CommandUsage(
    "martlet enqueue", "check a job and queue it", [],
    [
      .init(
        "queue", .text("LIST"),
        "the list to push to; default: push:jobs if MARTLET_QUEUES contains it, else its first list")
    ] + JobOption.all.map(\.option) + [
      .init("json", "print {\"id\",\"queue\"} instead of the id"), .init("dry-run", "only check"),
    ],
    text: """
      Checks a job against version 1 of the format, LPUSHes it and prints its id. Without options of a job, reads jobs from
      stdin, one JSON object per line. A job without an id gets one, and one without enqueuedAt gets the present time. An
      invalid job is reported and not queued (exit code 1). A number in the state of a Live Activity that looks like a Unix
      time is reported, and the job is queued.

      A job needs an addressee: --user, --token, --instance with --class, --activity, --channel with --app, or --app alone
      for everyone registered for it. --user with --token is that device of the user.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    var classes: (any JobClasses)?
    let configuration = try ClientConfiguration(environment) { reader in
      TimeZoneSetting.check(&reader)
      classes = Parts.classes(&reader)
    }
    let queue = try line.queue() ?? defaultQueue(configuration.queues)
    let isFromFlags = JobOption.all.contains { !$0.option.isFlag && line.has($0.option.name) }
    guard isFromFlags || !line.has("at-most-once") else {
      throw CommandError.usage("--at-most-once requires a job given by options; a job on stdin has atMostOnce")
    }
    let isDry = line.has("dry-run")
    if isFromFlags {
      let job = try checked(JobOption.job(from: line), classes, configuration.queues + [queue])
      if !isDry { try await configuration.withConnection { try await push(job, to: queue, $0) } }
      report(job, queue, line)
      return .done
    }
    return try await configuration.withConnection { connection in
      try await pushStandardInput(to: queue, connection, line) { bytes in
        try checked(bytes, classes, configuration.queues + [queue])
      }
    }
  }

  static func defaultQueue(_ queues: [String]) -> String {
    queues.contains("push:jobs") ? "push:jobs" : queues[0]
  }

  private struct CheckedJob: Sendable {
    let id: String
    let bytes: [UInt8]
    let hints: [String]
  }

  @EventLoop
  private static func pushStandardInput(
    to queue: String, _ connection: RedisClient, _ line: CommandLineWords,
    checked: ([UInt8]) throws -> CheckedJob
  ) async throws -> ExitCode {
    var exit = ExitCode.done
    for (number, bytes) in Console.filledLines(maximumBytes: Job.maximumBytes) {
      do {
        let job = try checked(bytes)
        if !line.has("dry-run") { try await push(job, to: queue, connection) }
        report(job, queue, line)
      } catch CommandError.failed(let message) {
        Console.complain("martlet enqueue: line \(number): \(TerminalText.line(message))\n")
        exit = .failed
      }
    }
    return exit
  }

  @EventLoop
  private static func push(_ job: CheckedJob, to queue: String, _ connection: RedisClient) async throws {
    _ = try await connection.send(RedisCommand("LPUSH", queue).with(job.bytes))
  }

  private static func report(_ job: CheckedJob, _ queue: String, _ line: CommandLineWords) {
    for hint in job.hints { Console.complain("martlet enqueue: \(TerminalText.line(hint))\n") }
    guard line.has("json") else { return Console.print("\(job.id)\n") }
    let object: JSONObject = ["id": job.id, "queue": queue]
    Console.print(object.line)
  }

  /// Returns a valid job with its id and `enqueuedAt`. Members that it lacks are inserted in front. A job that `enqueuedAt`
  /// would make too large goes without.
  private static func checked(
    _ bytes: [UInt8], _ classes: (any JobClasses)?, _ queues: [String]
  ) throws -> CheckedJob {
    let job: Job
    do {
      job = try Job(parsing: bytes)
      try job.refuseReply(to: queues)
      _ = try job.terms(in: classes)
    } catch {
      throw CommandError.failed(error.reason)
    }
    let (id, hints) = (job.id ?? JobID.random(), job.hints)
    let named = job.id == nil ? setting("id", "\"\(id)\"", of: bytes) : bytes
    guard named.count <= Job.maximumBytes else {
      throw CommandError.failed("larger than \(Job.maximumBytes) bytes with its id")
    }
    guard job.enqueuedAt == nil else { return CheckedJob(id: id, bytes: named, hints: hints) }
    let dated = setting("enqueuedAt", "\(Clock.unixMilliseconds)", of: named)
    return CheckedJob(id: id, bytes: dated.count <= Job.maximumBytes ? dated : named, hints: hints)
  }

  /// `object`, which has at least one member, with this one: in front, or in the place of a null.
  private static func setting(_ key: String, _ value: String, of object: [UInt8]) -> [UInt8] {
    var reader = JSONReader(object)
    do {
      try reader.beginObject()
      while let found = try reader.nextKey() {
        let range = try reader.skipValue()
        if found == key { return Array(object[..<range.lowerBound] + value.utf8 + object[range.upperBound...]) }
      }
    } catch {
      // It was read before.
    }
    guard let brace = object.firstIndex(of: UInt8(ascii: "{")) else { return object }
    return Array(object[...brace] + "\"\(key)\":\(value),".utf8 + object[(brace + 1)...])
  }
}

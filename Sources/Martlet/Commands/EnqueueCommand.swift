import EventLoop
import Jobs
import JSON
import Program
import Redis
import Telemetry

/// `martlet enqueue`: checks a job and queues it.
enum EnqueueCommand: Command {
  static let name = "enqueue"
  static let summary = "check a job and queue it"
  static let help = """
    usage: martlet enqueue [--queue LIST] (--user U | --token T | --app B | --activity ID | --channel C) [--title T] [--body B] ...
           martlet enqueue [--queue LIST] --instance I --class C [--preview TEXT] ...
           martlet enqueue [--queue LIST] [--json] < jobs.jsonl

    Checks a job against version 1 of the format, LPUSHes it and prints its id. Without options of a job, reads jobs from
    stdin, one JSON object per line. A job without an id gets one, and one without enqueuedAt gets the present time. An
    invalid job is reported and not queued (exit code 1). A number in the state of a Live Activity that looks like a Unix
    time is reported, and the job is queued.

      --queue LIST       the list to push to; default: push:jobs if MARTLET_QUEUES contains it, else its first list
      --user U --token T --instance I --app B     the addressee (--user with --token: that device of the user;
                                                  --instance requires --class)
      --activity ID                               a Live Activity: its newest state (--user with it: that user's devices;
                                                  --token with it: that update token gets the newest state)
      --channel NAME                              a channel of Live Activities of the app (see martlet channels)
      --live-activity JSON                        what to do to a Live Activity: {"event":"start|update|end", …}
      --id ID  --title T  --subtitle S  --body B  --badge N  --sound S  --category C  --thread-id T
      --class C  --preview TEXT                   a class of a delivery policy (see MARTLET_POLICY_FILE), to an instance
      --data JSON  --payload JSON                 objects; the payload is sent byte for byte
      --push-type T  --priority N  --collapse-id C  --ttl SECONDS  --expiration UNIX_SECONDS
      --send-at TIME     ISO 8601 or unix milliseconds
      --dedupe VALUE  --reply-to LIST
      --trace TRACEPARENT                         of W3C: 00-<trace id>-<parent id>-<flags>
      --at-most-once     never send twice: a push that may have arrived goes to the dead letters instead
      --json             print {"id","queue"} instead of the id
      --dry-run          only check

    """

  private static let target = ["user", "token", "instance", "activity", "channel", "app"]
  private static let strings = [
    "id": "id", "title": "title", "subtitle": "subtitle", "body": "body", "sound": "sound", "category": "category",
    "thread-id": "threadId", "push-type": "pushType", "collapse-id": "collapseId", "dedupe": "dedupe",
    "reply-to": "replyTo", "trace": "trace", "class": "class", "preview": "preview",
  ]
  private static let numbers = ["badge": "badge", "priority": "priority", "ttl": "ttl", "expiration": "expiration"]
  private static let raws = ["data": "data", "payload": "payload", "live-activity": "liveActivity"]

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let options = target + Array(strings.keys) + Array(numbers.keys) + Array(raws.keys) + ["queue", "send-at"]
    let line = try CommandLineWords(words, options: Set(options), flags: ["json", "dry-run", "at-most-once"])
    guard line.positional.isEmpty else { throw CommandError.usage("unexpected '\(line.positional[0])'") }
    var classes: (any JobClasses)?
    let configuration = try ClientConfiguration(environment) { reader in
      TimeZoneSetting.check(&reader)
      classes = Parts.classes(&reader)
    }
    let queue = try line.queue() ?? defaultQueue(configuration.queues)
    let isFromFlags = options.contains { $0 != "queue" && line.value($0) != nil }
    guard isFromFlags || !line.has("at-most-once") else {
      throw CommandError.usage("--at-most-once requires a job given by options; a job on stdin has atMostOnce")
    }
    let isDry = line.has("dry-run")
    if isFromFlags {
      let job = try checked(job(from: line), classes, configuration.queues + [queue])
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

  /// Returns the job that the options of a command line describe.
  private static func job(from line: CommandLineWords) throws(CommandError) -> [UInt8] {
    let app = line.value("app")
    let isBroadcast = target.dropLast().allSatisfy { line.value($0) == nil }
    let addressee: JSONObject = [
      "user": line.value("user"), "token": line.value("token"), "instance": line.value("instance"),
      "activity": line.value("activity"), "channel": line.value("channel"), "app": isBroadcast ? app : nil,
    ]
    var job: JSONObject = ["to": addressee, "app": isBroadcast ? nil : app]
    for (option, field) in strings.sorted(by: { $0.key < $1.key }) { job = job + [field: line.value(option)] }
    for (option, field) in numbers.sorted(by: { $0.key < $1.key }) {
      job = try job + [field: line.integer(option, in: 0...Int.max)]
    }
    for (option, field) in raws.sorted(by: { $0.key < $1.key }) { job = try job + [field: raw(option, line)] }
    let at = line.value("send-at")
    let milliseconds: Int64? = at?.integer(in: 0...Int64.max)
    job = job + ["atMostOnce": line.has("at-most-once") ? true : nil, "sendAt": milliseconds]
    return (job + ["sendAt": milliseconds == nil ? at : nil]).bytes
  }

  private static func raw(_ option: String, _ line: CommandLineWords) throws(CommandError) -> JSONText? {
    guard let bytes = line.value(option).map({ Array($0.utf8) }) else { return nil }
    // Text after the value could add members to the job.
    do {
      _ = try JSONValue(parsing: bytes)
    } catch {
      throw .usage("--\(option) takes one JSON value: \(error)")
    }
    return JSONText(bytes)
  }
}

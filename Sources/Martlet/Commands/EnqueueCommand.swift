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
    ] + fields.map(\.option) + [
      atMostOnce, .init("json", "print {\"id\",\"queue\"} instead of the id"), .init("dry-run", "only check"),
    ],
    text: """
      Checks a job against version 1 of the format, LPUSHes it and prints its id. Without options of a job, reads jobs from
      stdin, one JSON object per line. A job without an id gets one, and one without enqueuedAt gets the present time. An
      invalid job is reported and not queued (exit code 1). A number in the state of a Live Activity that looks like a Unix
      time is reported, and the job is queued.

      A job needs an addressee: --user, --token, --instance with --class, --activity, --channel with --app, or --app alone
      for everyone registered for it. --user with --token is that device of the user.
      """)

  /// An option that is a field of the job.
  private struct Field {
    let option: CommandOption
    let name: String
    /// Whether the value is JSON.
    let isRaw: Bool

    /// The name of the field is that of the option, in camel case.
    init(_ option: String, _ value: CommandOption.Value, isRaw: Bool = false, _ help: String) {
      self.option = CommandOption(option, value, help)
      let words = option.split(separator: "-")
      name = words.dropFirst().reduce(String(words[0])) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
      self.isRaw = isRaw
    }
  }

  private static let addressees: [Field] = [
    Field("user", .text("USER"), "all devices of a user; with --token or --activity only those"),
    Field("token", .text("TOKEN"), "a device; with --activity: that update token gets the newest state"),
    Field("instance", .text("INSTANCE"), "the device of an instance; needs --class"),
    Field("activity", .text("ID"), "a Live Activity: the devices that have an update token of it get its newest state"),
    Field("channel", .text("NAME"), "a channel of Live Activities of the app (see martlet channels)"),
    Field("app", .text("BUNDLE_ID"), "the app; alone: everyone who is registered for it"),
  ]
  private static let number = CommandOption.Value.number("N", 0...Int.max)
  private static let fields: [Field] =
    addressees + [
      Field("id", .text("ID"), "the id of the job"),
      Field("title", .text("TEXT"), "the title"), Field("subtitle", .text("TEXT"), "the line below the title"),
      Field("body", .text("TEXT"), "the text"), Field("badge", number, "the number at the app's icon"),
      Field("sound", .text("NAME"), "the sound"), Field("category", .text("NAME"), "the category, for buttons"),
      Field("thread-id", .text("ID"), "the group of the notification"),
      Field("class", .text("CLASS"), "a class of a delivery policy (see MARTLET_POLICY_FILE)"),
      Field("preview", .text("TEXT"), "what a class sends instead of the text while it must not show it"),
      Field("data", .text("JSON"), isRaw: true, "an object beside aps"),
      Field("payload", .text("JSON"), isRaw: true, "the whole payload, which is sent byte for byte"),
      Field(
        "live-activity", .text("JSON"), isRaw: true,
        "what to do to a Live Activity: {\"event\":\"start|update|end\", …}"),
      Field("push-type", .text("TYPE"), "the push type"), Field("priority", number, "10, 5 or 1"),
      Field("collapse-id", .text("ID"), "a newer push with the same one replaces the older"),
      Field("ttl", .number("SECONDS", 0...Int.max), "when the push expires, from now"),
      Field("expiration", .number("UNIX_SECONDS", 0...Int.max), "when the push expires"),
      Field("send-at", .text("TIME"), "not before: ISO 8601 or unix milliseconds"),
      Field("dedupe", .text("VALUE"), "jobs with the same value are sent once"),
      Field("reply-to", .text("LIST"), "the list that gets the record"),
      Field("trace", .text("TRACEPARENT"), "of W3C: 00-<trace id>-<parent id>-<flags>"),
    ]
  private static let atMostOnce = CommandOption(
    "at-most-once", "never send twice: a push that may have arrived goes to the dead letters instead")

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    var classes: (any JobClasses)?
    let configuration = try ClientConfiguration(environment) { reader in
      TimeZoneSetting.check(&reader)
      classes = Parts.classes(&reader)
    }
    let queue = try line.queue() ?? defaultQueue(configuration.queues)
    let isFromFlags = fields.contains { line.has($0.option.name) }
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
    let isBroadcast = addressees.dropLast().allSatisfy { !line.has($0.name) }
    var addressee: JSONObject = ["app": isBroadcast ? app : nil]
    for field in addressees.dropLast() { addressee = addressee + [field.name: line.value(field.name)] }
    var job: JSONObject = [
      "to": addressee, "app": isBroadcast ? nil : app, "atMostOnce": line.has("at-most-once") ? true : nil,
    ]
    for field in fields.dropFirst(addressees.count) {
      let (option, value) = (field.option.name, line.value(field.option.name))
      if field.isRaw {
        job = try job + [field.name: raw(option, line)]
      } else if let number = option == "send-at" ? value?.integer(in: 0...Int.max) : line.integer(option) {
        job = job + [field.name: number]
      } else {
        job = job + [field.name: value]
      }
    }
    return job.bytes
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

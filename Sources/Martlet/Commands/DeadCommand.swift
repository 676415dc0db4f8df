import EventLoop
import Jobs
import JSON
import Operations
import Program
import Queue
import Telemetry
import Usage

/// `martlet dead`: lists, shows, requeues and purges dead letters.
enum DeadCommand: Command {
  static let usage = CommandUsage(
    "martlet dead", "list, show, requeue or purge dead letters",
    forms: [
      CommandForm("list", "list dead letters", [], [reason, .queue, limit, .json, raw], only: [["json", "raw"]]),
      CommandForm("show", "show a dead letter", [.id], [.json, raw], only: [["json", "raw"]]),
      CommandForm("requeue", "run dead letters again", [.anyID], [reason, .queue, limit, dryRun]),
      CommandForm("purge", "delete dead letters", [.anyID], [reason, .queue, limit, dryRun]),
    ],
    text: """
      Works on the dead letters of the queues of MARTLET_QUEUES, newest first. A requeued job is sent only to the devices
      that were left open or uncertain, under the same apns-ids, and has all its attempts again. requeue and purge without
      ID, --reason or --limit act on all dead letters. They end after some seconds, and say how many letters are left; the
      same command continues. list shows \(listLimit) unless --limit is given. show also prints the producer's bytes; of a
      job larger than 1 MiB only the beginning.

      Control characters and invalid UTF-8 are escaped. With --raw, list escapes nothing and show prints only the
      producer's bytes, unchanged.
      """)

  private static let reason = CommandOption("reason", .text("TEXT"), "only those whose reason contains the text")
  private static let limit = CommandOption("limit", .number("N", 1...Int.max), "at most this many")
  private static let raw = CommandOption("raw", "escape nothing, or print the producer's bytes and nothing else")
  private static let dryRun = CommandOption("dry-run", "print what would be done, and change nothing")

  private static let listLimit = 50

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let (verb, id) = (line.action, line.arguments.first)
    let configuration = try ClientConfiguration(environment)
    let queues = try configuration.queues(of: line)
    let limit = line.integer("limit")
    let filter = DeadLetterFilter(id: id, reason: line.value("reason"))
    switch verb {
    case "list":
      let entries = try await collect(configuration, queues, filter, limit: limit ?? listLimit)
      showList(entries, line)
      return .done
    case "show":
      let entries = try await collect(configuration, queues, filter, limit: 1)
      guard let entry = entries.first else { throw CommandError.failed("no dead letter of job '\(id ?? "")'") }
      show(entry, line)
      return .done
    default:
      let isDry = line.has("dry-run")
      let sweep = try await configuration.withConnection { connection in
        await DeadLetterSweep.run(
          isDry ? nil : DeadLetterVerb(rawValue: verb), filter, limit: limit ?? .max, queues: queues,
          connection: connection)
      }
      if let fault = sweep.fault { throw CommandError.failed("\(verb)d \(sweep.done) before Redis failed: \(fault)") }
      if let id, sweep.done == 0 { throw CommandError.failed("no dead letter of job '\(id)'") }
      let left = sweep.left > 0 ? "; \(sweep.left) left to look at: run it again to continue" : ""
      Console.print("\(isDry ? "would \(verb)" : "\(verb)d") \(sweep.done)\(left)\n")
      return .done
    }
  }

  private typealias Found = (queue: String, entry: DeadLetters.Entry)

  private static func collect(
    _ configuration: ClientConfiguration, _ queues: [String], _ filter: DeadLetterFilter, limit: Int
  ) async throws -> [Found] {
    try await configuration.withConnection { connection in
      var found: [Found] = []
      for queue in queues where found.count < limit {
        let letters = DeadLetters(queue: queue, connection: connection)
        found += try await letters.find(filter, limit: limit - found.count).map { (queue, $0) }
      }
      return found
    }
  }

  private static func showList(_ entries: [Found], _ line: CommandLineWords) {
    if line.has("json") { return Console.print(entries.map { json($0) }.joined()) }
    let table = table(entries, isRaw: line.has("raw"))
    line.has("raw") ? Console.printRaw(Array(table.utf8)) : Console.print(table)
  }

  private static func show(_ found: Found, _ line: CommandLineWords) {
    if line.has("raw") { return Console.printRaw(found.entry.letter.envelope.job) }
    Console.print(line.has("json") ? json(found) : description(found))
  }

  private static func table(_ entries: [Found], isRaw: Bool) -> String {
    guard !entries.isEmpty else { return "no dead letters\n" }
    let now = Clock.unixMilliseconds
    return Console.table(
      ["id", "queue", "age", "attempts", "reason"],
      entries.map { queue, entry in
        let letter = entry.letter
        return [letter.id, queue, age(now - letter.at), "\(letter.attempts)", String(letter.reason.prefix(120))]
      }, isRaw: isRaw)
  }

  private static func age(_ milliseconds: Int64) -> String {
    switch milliseconds / 1000 {
    case ..<120: "\(max(0, milliseconds / 1000))s"
    case ..<7200: "\(milliseconds / 60_000)m"
    case ..<172_800: "\(milliseconds / 3_600_000)h"
    default: "\(milliseconds / 86_400_000)d"
    }
  }

  private static func description(_ found: Found) -> String {
    let (letter, missing) = (found.entry.letter, found.entry.missingBytes)
    let job = String(decoding: letter.envelope.job, as: UTF8.self)
    return Console.facts([
      ("id", letter.id), ("queue", found.queue), ("reason", letter.reason), ("attempts", "\(letter.attempts)"),
      ("crashes", "\(letter.envelope.crashes)"),
      ("job", job + (missing == 0 ? "" : "… and \(missing) more bytes")),
    ])
  }

  private static func json(_ found: Found) -> String {
    let (letter, missing) = (found.entry.letter, found.entry.missingBytes)
    let object: JSONObject = [
      "id": letter.id, "queue": found.queue, "reason": letter.reason,
      "job": String(decoding: letter.envelope.job, as: UTF8.self),
      "missingBytes": missing > 0 ? missing : nil, "at": letter.at, "attempts": letter.attempts,
    ]
    return object.line
  }
}

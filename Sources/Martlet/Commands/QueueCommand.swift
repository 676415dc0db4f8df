import EventLoop
import JSON
import Operations
import Program
import Queue
import Redis
import Telemetry
import Usage

/// `martlet queue`: pauses and resumes queues.
enum QueueCommand: Command {
  static let usage = CommandUsage(
    "martlet queue", "pause or resume a queue",
    forms: [
      CommandForm(
        "pause", "let no worker take its jobs", [list], [.init("reason", .text("TEXT"), "why"), .by, .json]),
      CommandForm("resume", "let workers take its jobs", [list], [.json]),
    ],
    text: """
      Once pause has returned, no worker takes a job of the queue, until it is resumed, also after restarts. Jobs in flight
      continue, and producers can add jobs. martlet status shows what is paused.

      Exit code 0 if the queue is paused or resumed now, or was before.
      """)

  private static let list = CommandArgument("LIST")

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let queue = line.arguments[0]
    guard SharedSettings.isQueueName(queue) else {
      throw CommandError.usage("a queue is a list name of \(SharedSettings.queueNameRule)")
    }
    let configuration = try ClientConfiguration(environment)
    let operatorName = line.operatorName
    let reason = line.value("reason") ?? ""
    let pause = try await configuration.withConnection { connection in
      let control = QueueControl(queue: queue, connection: connection)
      guard line.action == "pause" else {
        try await control.resume()
        return nil as QueuePause?
      }
      return try await control.pause(by: operatorName, reason: reason)
    }
    if line.has("json") {
      Console.print(json(queue, pause))
    } else {
      Console.print("\(queue) \(pause.map { "is paused \($0.summary)" } ?? "is served")\n")
    }
    if !configuration.queues.contains(queue) {
      Console.complain("martlet queue: \(queue) is not one of MARTLET_QUEUES here\n")
    }
    return .done
  }

  private static func json(_ queue: String, _ pause: QueuePause?) -> String {
    let object: JSONObject = ["queue": queue, "paused": pause ?? JSONValue.null as any JSONWritable]
    return object.line
  }
}

extension QueuePause {
  /// `since 2026-12-24T18:00:00.000Z by anna: maintenance`
  var summary: String {
    let who = by.isEmpty ? "" : " by \(by)"
    return "since \(Timestamp.text(since))\(who)\(reason.isEmpty ? "" : ": \(reason)")"
  }
}

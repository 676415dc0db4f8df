import EventLoop
import Jobs
import JSON
import Operations
import Program
import Queue
import Redis
import Registry
import Telemetry
import Usage

/// `martlet broadcast`: shows and steers jobs to an app's audience.
enum BroadcastCommand: Command {
  static let usage = CommandUsage(
    "martlet broadcast", "list, show, pause, resume or cancel broadcasts",
    forms: [
      CommandForm(
        "list", "list the latest broadcasts", [],
        [.init("limit", .number("N", 1...1000), "at most this many; default: \(listLimit)"), .queue, .json]),
      CommandForm("show", "show a broadcast", [.id], [.queue, .json]),
      CommandForm("pause", "stop after the current pages", [.id], [.queue, .by, .json]),
      CommandForm("resume", "continue after the last page", [.id], [.queue, .json]),
      CommandForm("cancel", "end after the current pages", [.id], [.queue, .json]),
    ],
    text: """
      Works on the broadcasts that a worker has taken from the queues of MARTLET_QUEUES in the last 7 days, the latest 1,000
      of each.

      A paused broadcast sends no page after its current ones, keeps its progress, and delays no other job; resume continues
      it after its last page. cancel ends a broadcast after its current pages; its record says `cancelled`, and what had
      been accepted.

      Exit code 1 if the broadcast is not known or has ended.
      """)

  private static let listLimit = 50

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let id = line.arguments.first ?? ""
    guard line.action == "list" || Job.isID(id) else { throw CommandError.usage("a job id has \(Job.idRule)") }
    let limit = line.integer("limit") ?? listLimit
    let configuration = try ClientConfiguration(environment)
    let queues = try configuration.queues(of: line)
    let operatorName = line.operatorName
    return try await configuration.withConnection { connection in
      let fleet = FleetQueues(queues, connection: connection)
      switch line.action {
      case "list": try await list(fleet, connection, limit, line)
      case "show": try await show(id, fleet, connection, line)
      case "pause": try await pause(id, fleet, by: operatorName)
      case "resume":
        guard try await fleet.resume(broadcast: id) else {
          throw CommandError.failed("broadcast '\(id)' is not paused")
        }
        Console.print("\(id) continues\n")
      default:
        let isTaken = try await fleet.broadcast(id) != nil
        let isWaiting = try await fleet.locate(id).isAlive
        guard isTaken || isWaiting else { throw CommandError.failed("no broadcast '\(id)' is known") }
        return try await CancelCommand.cancel(id, fleet, line)
      }
      return .done
    }
  }

  // MARK: - Reading

  @EventLoop
  private static func list(
    _ fleet: FleetQueues, _ connection: RedisClient, _ limit: Int, _ line: CommandLineWords
  ) async throws {
    var shown: [BroadcastLine] = []
    for status in try await fleet.broadcasts(limit: limit) { shown.append(try await measured(status, connection)) }
    if line.has("json") { return Console.print(shown.map(\.json).joined()) }
    guard !shown.isEmpty else { return Console.print("no broadcasts\n") }
    Console.print(
      Console.table(["id", "app", "queue", "state", "progress", "audience", "accepted", "failed"], shown.map(\.row)))
  }

  @EventLoop
  private static func show(
    _ id: String, _ fleet: FleetQueues, _ connection: RedisClient, _ line: CommandLineWords
  ) async throws {
    guard let status = try await fleet.broadcast(id) else { throw CommandError.failed("no broadcast '\(id)' is known") }
    let shown = try await measured(status, connection)
    Console.print(line.has("json") ? shown.json : shown.description)
  }

  @EventLoop
  private static func measured(_ status: BroadcastStatus, _ connection: RedisClient) async throws -> BroadcastLine {
    let registry = Registry(connection: connection, log: .silent)
    let isOver = status.entry.state == .finished
    let progress = try await registry.audienceProgress(app: status.entry.app, cursor: isOver ? "~" : status.cursor)
    return BroadcastLine(status: status, audience: progress, now: Clock.unixMilliseconds)
  }

  // MARK: - Acting

  @EventLoop
  private static func pause(_ id: String, _ fleet: FleetQueues, by operatorName: String) async throws {
    switch try await fleet.pause(broadcast: id, by: operatorName) {
    case .paused: Console.print("\(id) is paused\n")
    case .ended: throw CommandError.failed("broadcast '\(id)' has ended")
    case .unknown: throw CommandError.failed("no broadcast '\(id)' is known")
    case .tooMany:
      throw CommandError.failed("\(FleetQueues.maximumPausedBroadcasts) broadcasts are paused already")
    }
  }
}

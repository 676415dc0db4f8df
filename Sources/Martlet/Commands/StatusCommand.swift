import EventLoop
import Events
import Jobs
import JSON
import Operations
import Program
import Queue
import Redis
import Telemetry
import Usage

/// `martlet status`: shows the queues and the workers.
enum StatusCommand: Command {
  static let usage = CommandUsage(
    "martlet status", "show queues, workers, rates, and what is paused or slow", [],
    [
      .init("watch", "show them again each second, until interrupted"),
      .init("interval", .number("SECONDS", 1...3600), "the time between; default: 1"),
      .init("json", "print JSON, one object a line"),
    ],
    text: """
      Shows the numbers of waiting, in-flight, retry, scheduled and dead jobs of each queue of MARTLET_QUEUES, the live
      workers with their rates, what the fleet did in the last hour, paused queues, the paused routes to APNs and the routes
      whose stale tokens are not removed, each with its fix, how much memory Redis uses and what that means for records, the
      apps that APNs answers slowly, and why the last connection to APNs ended.
      """)

  static func run(_ words: [String], _ environment: ProcessEnvironment) async throws -> ExitCode {
    let line = try CommandLineWords(words, of: self)
    let interval = line.integer("interval") ?? 1
    let configuration = try ClientConfiguration(environment)
    try await configuration.withConnection { connection in
      while true {
        let overviews = try await QueueOverview.read(configuration.queues, from: connection)
        let parts = try await Parts.statuses(connection)
        show(overviews, try await RateStatus.read(from: connection), parts, line)
        guard line.has("watch") else { return }
        try await Task.sleep(for: .seconds(interval))
      }
    }
    return .done
  }

  private static func show(
    _ overviews: [QueueOverview], _ rates: RateStatus?, _ parts: [PartStatus], _ line: CommandLineWords
  ) {
    let sorted = overviews.workers.sorted { $0.key < $1.key }
    let troubles = FleetTroubles(sorted.map(\.value))
    if line.has("json") { return Console.print(json(overviews, sorted, troubles, rates, parts)) }
    if line.has("watch"), Console.isTerminal { Console.clearScreen() }
    Console.print(
      Console.table(
        ["queue", "waiting", "in flight", "retry", "scheduled", "dead"],
        overviews.map { [$0.queue] + [$0.waiting, $0.inFlight, $0.retry, $0.scheduled, $0.dead].map { "\($0)" } }))
    let lastHour = rates?.text ?? ""
    let ofParts = parts.map(\.text).joined()
    Console.print(pauses(overviews))
    guard !sorted.isEmpty else { return Console.print("\nno live worker\n" + lastHour + ofParts) }
    let rows = sorted.map { name, report in
      [
        report.isDraining ? name + " (draining)" : name, "\(report.jobs)", "\(Int(report.jobsPerSecond))",
        "\(report.inFlight)/\(report.concurrency)",
      ]
    }
    let total = Int(sorted.map(\.value).jobsPerSecond)
    Console.print("\n" + Console.table(["worker", "jobs", "jobs/s", "pushes in flight"], rows))
    Console.print("\n\(sorted.count) workers, \(total) jobs/s\n" + lastHour + troubles.text + ofParts)
  }

  /// The paused queues; empty without any.
  private static func pauses(_ overviews: [QueueOverview]) -> String {
    overviews.compactMap { overview in
      overview.pause.map { pause in
        "\n\(overview.queue) is paused \(TerminalText.line(pause.summary)); end this with martlet queue resume\n"
      }
    }.joined()
  }

  private static func json(
    _ overviews: [QueueOverview], _ workers: [(key: String, value: WorkerReport)], _ troubles: FleetTroubles,
    _ rates: RateStatus?, _ parts: [PartStatus]
  ) -> String {
    let named = workers.map { entry in
      let name: JSONObject = ["name": entry.key]
      return name + entry.value.object
    }
    let json: JSONObject = [
      "queues": overviews.map(\.object), "workers": named,
      "pausedRoutes": troubles.paused.map(\.object), "stoppedRemovals": troubles.stoppedRemovals.map(\.object),
      "slowApps": troubles.slowApps.map(\.object), "connectionEnd": troubles.connectionEnd?.object,
      "memory": troubles.memory?.object,
      "lastHour": rates?.json,
    ]
    return parts.reduce(json) { json, part in
      let member: JSONObject = [part.name: part.object]
      return json + member
    }.line
  }
}

import Queue
import EventLoop
import JSON
import Jobs
import Redis

/// `martlet status`: how the queues and the fleet stand.
enum StatusCommand: Command {
  static let name = "status"
  static let summary = "show queues, workers and rates"
  static let help = """
    usage: martlet status [--watch] [--interval SECONDS] [--json]

    Waiting, in flight, retry, scheduled and dead jobs of each queue of MARTLET_QUEUES, and the living workers with their
    rates, the paused routes to APNs with what to do about them, and those whose tokens all look bad. --watch redraws every second (or --interval) until interrupted; with --json one object per line.

    """

  static func run(_ words: [String]) async throws -> ExitCode {
    let line = try CommandLineWords(words, options: ["interval"], flags: ["watch", "json"])
    try line.refuseArguments()
    let interval = try line.integer("interval", in: 1...3600) ?? 1
    let configuration = try ClientConfiguration(environment: EnvironmentReader.processValues)
    try await configuration.withConnection { connection in
      while true {
        var overviews: [QueueOverview] = []
        for queue in configuration.queues { overviews.append(try await QueueOverview.read(queue, from: connection)) }
        show(overviews, line)
        guard line.has("watch") else { return }
        try await Task.sleep(for: .seconds(interval))
      }
    }
    return .done
  }

  private static func show(_ overviews: [QueueOverview], _ line: CommandLineWords) {
    var workers: [String: WorkerReport] = [:]
    for overview in overviews { workers.merge(overview.workers) { first, _ in first } }
    let sorted = workers.sorted { $0.key < $1.key }
    let routes = RouteStatus(sorted.map(\.value))
    if line.has("json") { return Console.print(json(overviews, sorted, routes)) }
    if line.has("watch"), Console.isTerminal { Console.clearScreen() }
    Console.print(
      Console.table(
        ["queue", "waiting", "in flight", "retry", "scheduled", "dead"],
        overviews.map { [$0.queue] + [$0.waiting, $0.inFlight, $0.retry, $0.scheduled, $0.dead].map { "\($0)" } }))
    guard !sorted.isEmpty else { return Console.print("\nno worker is alive\n") }
    let rows = sorted.map { name, report in
      [name, "\(report.jobs)", "\(Int(report.jobsPerSecond))", "\(report.inFlight)/\(report.concurrency)"]
    }
    let total = Int(sorted.reduce(0) { $0 + $1.value.jobsPerSecond })
    Console.print("\n" + Console.table(["worker", "jobs", "jobs/s", "pushes in flight"], rows))
    Console.print("\n\(sorted.count) workers, \(total) jobs/s\n" + routes.text)
  }

  private static func json(
    _ overviews: [QueueOverview], _ workers: [(key: String, value: WorkerReport)], _ routes: RouteStatus
  ) -> String {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("queues")
    writer.beginArray()
    for overview in overviews { overview.write(to: &writer) }
    writer.endArray()
    writer.key("workers")
    writer.beginArray()
    for (name, report) in workers { report.write(to: &writer, name: name) }
    writer.endArray()
    routes.write(to: &writer)
    writer.endObject()
    return String(decoding: writer.bytes, as: UTF8.self) + "\n"
  }
}

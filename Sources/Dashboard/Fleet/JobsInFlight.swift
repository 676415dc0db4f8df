import EventLoop
import Operations
import Queue

/// The jobs of a queue that a worker has in flight.
struct JobsInFlight {
  /// Jobs of a queue that are shown.
  private static let shown = 50

  let queue: String
  /// How many there are.
  let count: Int64
  /// The one that was claimed last is the first.
  let jobs: [BrowsedJob]

  /// Reads the jobs of a worker, queue by queue.
  @EventLoop
  static func read(_ worker: FleetWorker, _ context: DashboardContext) async throws(PageError) -> [JobsInFlight] {
    var all: [JobsInFlight] = []
    for part in worker.inFlight {
      let browser = QueueBrowser(queue: part.queue, connection: context.connection)
      let jobs = try await refusingFaults(await browser.inFlight(of: worker.name, limit: shown))
      all.append(JobsInFlight(queue: part.queue, count: part.jobs, jobs: jobs))
    }
    return all
  }

  func append(_ request: PageRequest, to html: inout HTML) {
    guard !jobs.isEmpty else { return }
    let cells = JobCells(request: request)
    var table = Table(
      "Jobs of \(queue) in flight",
      columns: [.text("Job"), .text("For"), .number("Attempts"), .number("Size")])
    for job in jobs { table.row(cells.id(job.id), cells.addressee(job), .number(job.attempts), cells.size(job)) }
    html.table(table)
    guard count > Int64(jobs.count) else { return }
    html.element("p", ["class": "quiet"], "The \(jobs.count) that were claimed last.")
  }
}

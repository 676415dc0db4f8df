import EventLoop
import Operations
import Queue

/// The jobs of a queue that a worker has in flight.
struct HeldJobs {
  /// Jobs of a queue that are shown.
  private static let shown = 50

  let held: FleetWorker.Held
  /// The one that was claimed last is the first.
  let jobs: [BrowsedJob]

  /// Reads the jobs of a worker, queue by queue.
  @EventLoop
  static func read(_ worker: FleetWorker, _ context: DashboardContext) async throws(PageError) -> [HeldJobs] {
    var all: [HeldJobs] = []
    for held in worker.held {
      let browser = QueueBrowser(queue: held.queue, connection: context.connection)
      let jobs = try await refusingFaults(await browser.inFlight(of: worker.name, limit: shown))
      all.append(HeldJobs(held: held, jobs: jobs))
    }
    return all
  }

  func append(_ request: PageRequest, to html: inout HTML) {
    guard !jobs.isEmpty else { return }
    let cells = JobCells(request: request)
    var table = Table(
      "Jobs of \(held.queue) in flight",
      columns: [.text("Job"), .text("For"), .number("Attempts"), .number("Size")])
    for job in jobs { table.row(cells.id(job.id), cells.addressee(job), .number(job.attempts), cells.size(job)) }
    html.table(table)
    guard held.jobs > Int64(jobs.count) else { return }
    html.element("p", ["class": "quiet"], "The \(jobs.count) that were claimed last.")
  }
}

import EventLoop
import JSON
import Operations
import Queue

/// `/queues/{name}`: a look at each state of one queue.
@EventLoop
struct QueuePage: DashboardPage {
  /// Jobs that are shown of the end of the queue that is looked at, and of each other state.
  nonisolated static let waitingShown = 10
  nonisolated static let othersShown = 5
  /// Workers whose jobs are shown.
  private static let workersShown = 10

  let context: DashboardContext

  let path = "/queues/{name}"
  let section = Section.queues
  let actions: [PageAction] = [.pause, .resume]

  func subject(of action: PageAction, _ request: PageRequest) -> String { "queue \(request.parameter)" }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let queue = try context.queue(named: request.parameter)
    return try await context.perform(action, onQueue: queue, request)
  }

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let queue = try context.queue(named: request.parameter)
    let overview = try await refusingFaults(await QueueOverview.readWithAges([queue], from: context.connection)[0])
    let look = try Look(request)
    let browser = QueueBrowser(queue: queue, connection: context.connection)
    let shown = QueuePage.othersShown
    let waiting = try await refusingFaults(
      await browser.waiting(look.end, skipping: look.skip, limit: QueuePage.waitingShown))
    let retry = try await refusingFaults(await browser.due(.retry, limit: shown))
    let scheduled = try await refusingFaults(await browser.due(.scheduled, limit: shown))
    let dead = try await refusingFaults(await browser.dead(limit: shown))
    var inFlight: [(worker: String, jobs: [BrowsedJob])] = []
    for worker in overview.workers.keys.sorted().prefix(QueuePage.workersShown) {
      let jobs = try await refusingFaults(await browser.inFlight(of: worker, limit: shown))
      if !jobs.isEmpty { inFlight.append((worker, jobs)) }
    }
    let view = QueueView(
      request: request, overview: overview, look: look, waiting: waiting, inFlight: inFlight, retry: retry.jobs,
      scheduled: scheduled.jobs, dead: dead.jobs)
    return Page(queue) { html in
      html.region("queue") { view.summary(&$0) }
      view.pause(&html)
      html.region("jobs") { view.jobs(&$0) }
    }
  }

  /// Which end of the waiting jobs is shown.
  struct Look {
    let end: QueueBrowser.End
    /// Jobs between the end and the first that is shown.
    let skip: Int

    /// Throws 400 for what no link of the page asks for.
    init(_ request: PageRequest) throws(PageError) {
      guard let end = QueueBrowser.End(rawValue: request.query("end") ?? QueueBrowser.End.front.rawValue),
        let skip = (request.query("skip") ?? "0").integer(in: 0...QueueBrowser.listDepth - 1)
      else { throw .badCursor }
      self.end = end
      self.skip = skip
    }
  }
}

import EventLoop
import Queue
import Redis

/// `/`: whether all is well, and the numbers that matter.
@EventLoop
struct OverviewPage: DashboardPage {
  let context: DashboardContext

  let path = "/"
  let section = Section.overview

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    var table = Table(
      "Queues",
      columns: [
        .text("Queue"), .number("Waiting"), .number("In flight"), .number("Retry"), .number("Scheduled"),
        .number("Dead"),
      ], isCaptionHidden: true)
    for queue in context.queues {
      let overview = try await refusingFaults(await QueueOverview.read(queue, from: context.connection))
      table.row(
        .link(queue, request.link("queues", queue)), .number(overview.waiting), .number(overview.inFlight),
        .number(overview.retry), .number(overview.scheduled), .number(overview.dead))
    }
    return Page("Overview") { html in
      html.region("queues") { html in
        html.panel("Queues") { $0.table(table) }
      }
    }
  }
}

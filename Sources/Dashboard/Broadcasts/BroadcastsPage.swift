import EventLoop
import Jobs
import Operations
import Queue
import Registry

/// `/broadcasts`: the latest jobs to an audience, and how far each has come.
@EventLoop
struct BroadcastsPage: DashboardPage {
  /// Broadcasts that are shown, and those of them whose audience is counted.
  private static let shown = 50
  private static let counted = 20

  let context: DashboardContext

  let path = "/broadcasts"
  let section = Section.broadcasts
  let actions: [PageAction] = [.pause, .resume]

  func subject(of action: PageAction, _ request: PageRequest) -> String {
    "broadcast \(request.named("broadcast"))"
  }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    try await context.perform(action, onBroadcast: request.field("broadcast") ?? "", request)
  }

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let list = try await refusingFaults(await context.fleet.broadcasts(limit: BroadcastsPage.shown))
    var views: [BroadcastView] = []
    for status in list {
      var view = BroadcastView(status: status)
      if !view.isOver, views.count(where: { $0.audience != nil }) < BroadcastsPage.counted {
        view.audience = try await refusingFaults(
          await context.registry.audienceProgress(app: status.entry.app, cursor: status.cursor))
      }
      views.append(view)
    }
    return Page("Broadcasts", summary: "Jobs to everyone who is registered for an app, the latest first.") { html in
      html.region("broadcasts") { html in
        html.surface { html in
          html.table(
            table(views, request),
            empty: EmptyState("No broadcasts", "A job with to.app appears here when a worker claims it."))
        }
      }
    }
  }

  private func table(_ views: [BroadcastView], _ request: PageRequest) -> Table {
    var table = Table(
      "Broadcasts",
      columns: [
        .text("Broadcast"), .text("App"), .text("State"), .text("Progress"), .number("Accepted"), .number("Failed"),
        .number("Pace"), .text("Started"), .actions(),
      ], isCaptionHidden: true)
    for view in views {
      let entry = view.entry
      table.row(
        .content { $0.jobLink(entry.id, to: request.link("broadcasts", entry.id)) }, .text(entry.app), view.badge,
        view.progress, .number(view.status.accepted), .number(view.status.failed), view.pace(now: request.now),
        .time(entry.startedAt, now: request.now),
        .content { view.buttons(request, fields: [("broadcast", entry.id)], &$0) })
    }
    return table
  }
}

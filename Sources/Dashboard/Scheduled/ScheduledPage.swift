import EventLoop
import Operations
import Queue
import Redis

/// `/scheduled`: jobs that wait for their time, those that are retried and those that were scheduled.
@EventLoop
struct ScheduledPage: DashboardPage {
  private static let pageSize = 25

  let context: DashboardContext

  let path = "/scheduled"
  let section = Section.scheduled
  let actions: [PageAction] = [.cancel, .runNow]

  func subject(of action: PageAction, _ request: PageRequest) -> String { "job \(request.named("job"))" }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let id = request.field("job") ?? ""
    return action == .cancel ? try await context.cancel(job: id) : try await context.runNow(job: id)
  }

  private struct Source {
    let queue: String
    let set: QueueBrowser.DueSet
  }

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let sources = try self.sources(request)
    let list = try await MergedList.read(sources, request, isDescending: false, limit: ScheduledPage.pageSize) {
      (source, position) async throws(RedisError) -> BrowsedPage in
      try await QueueBrowser(queue: source.queue, connection: context.connection)
        .due(source.set, from: position, limit: ScheduledPage.pageSize)
    }
    let isFirst = request.query("cursor") == nil
    return Page("Scheduled and retries", summary: "Jobs that wait for their time, the next one first.") { html in
      html.filterForm(
        request,
        [
          context.queueField,
          FilterField(
            "state", "State", .choice([("", "Both"), ("retry", "Retried"), ("scheduled", "Scheduled or deferred")])),
        ])
      html.region("list") { html in
        html.surface { html in
          html.table(
            table(list, sources, request),
            empty: EmptyState(
              "Nothing waits for its time",
              "Jobs come here that are retried after a failure, that have a sendAt, or that a policy deferred."))
        }
        html.pager(request, first: isFirst, next: list.next?.text)
      }
    }
  }

  private func sources(_ request: PageRequest) throws(PageError) -> [Source] {
    var sets = QueueBrowser.DueSet.allCases
    if let name = request.query("state") {
      guard let set = QueueBrowser.DueSet(rawValue: name) else { throw .badRequest("There is no such state.") }
      sets = [set]
    }
    return try context.queues(of: request).flatMap { queue in sets.map { Source(queue: queue, set: $0) } }
  }

  private func table(_ list: MergedList, _ sources: [Source], _ request: PageRequest) -> Table {
    var table = Table(
      "Jobs that wait for their time",
      columns: [
        .text("Job"), .text("For"), .text("Queue"), .text("State"), .text("Due"), .number("Attempts"), .number("Size"),
        .actions(),
      ], isCaptionHidden: true)
    let cells = JobCells(request: request)
    for entry in list.entries {
      let source = sources[entry.source]
      table.row(
        cells.id(entry.job.id), cells.addressee(entry.job), cells.queue(source.queue),
        state(entry.job, source.set),
        cells.due(entry.job), .number(entry.job.attempts), cells.size(entry.job),
        buttons(entry.job, source.set, request))
    }
    return table
  }

  private func state(_ job: BrowsedJob, _ set: QueueBrowser.DueSet) -> Cell {
    guard set == .scheduled else { return .badge("retry", .warn) }
    return job.isPaused ? .badge("paused", .warn) : .badge("scheduled", .info)
  }

  private func buttons(_ job: BrowsedJob, _ set: QueueBrowser.DueSet, _ request: PageRequest) -> Cell {
    guard let id = job.id else { return .none }
    return .content { html in
      if !job.isPaused {
        html.actionForm(
          request, .runNow, set == .retry ? "Retry now" : "Run now", fields: [("job", id)], describedBy: id)
      }
      if request.may(.cancel) {
        // The page of the job asks first.
        html.element(
          "a",
          [
            "class": "button", "href": request.link("jobs", id, query: [("confirm", "cancel")]).text,
            "aria-label": "Cancel \(id)",
          ], "Cancel…")
      }
    }
  }
}

import EventLoop
import Operations
import Queue

/// `/queues`: how many jobs of each queue are in each state, how long they wait, and whether it is paused.
@EventLoop
struct QueuesPage: DashboardPage {
  let context: DashboardContext

  let path = "/queues"
  let section = Section.queues
  let actions: [PageAction] = [.pause, .resume]

  func subject(of action: PageAction, _ request: PageRequest) -> String { "queue \(request.named("queue"))" }

  func perform(_ action: PageAction, _ request: PageRequest) async throws(PageError) -> ActionOutcome {
    let queue = try context.queue(named: request.field("queue") ?? "")
    return try await context.perform(action, onQueue: queue, request)
  }

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let states = try await refusingFaults(await QueueOverview.readWithAges(context.queues, from: context.connection))
    return Page(
      "Queues", summary: "In strict order: a worker claims jobs of a queue only when the queues above it are empty."
    ) {
      html in
      html.region("queues") { html in
        html.figures(QueuesPage.figures(states))
        html.panel("States") { $0.table(table(states, request)) }
      }
    }
  }

  private static func figures(_ states: [QueueOverview]) -> [Figure] {
    let waiting = states.reduce(0) { $0 + $1.waiting }
    let rate = states.workers.values.jobsPerSecond
    let drain = waiting == 0 ? "now" : rate > 0 ? QueuesPage.rounded(Double(waiting) / rate) : "–"
    let paused = states.count { $0.pause != nil }
    return [
      Figure("Waiting", waiting),
      Figure("In flight", states.reduce(0) { $0 + $1.inFlight }),
      Figure("Jobs per second", NumberText.short(rate), detail: "of the whole fleet"),
      Figure("Empty in", drain, detail: waiting > 0 && rate == 0 ? "no job is ended now" : "at this rate"),
      Figure("Paused", String(paused), tone: paused > 0 ? .warn : nil),
    ]
  }

  /// `4 min`: the larger unit only.
  static func rounded(_ seconds: Double) -> String {
    guard seconds < Double(Int32.max) else { return "years" }
    return TimeText.duration(Int64(seconds * 1000)).split(separator: " ").prefix(2).joined(separator: "\u{202F}")
  }

  private func table(_ states: [QueueOverview], _ request: PageRequest) -> Table {
    var table = Table(
      "Queues",
      columns: [
        .text("Queue"), .text("State"), .number("Waiting"), .number("Oldest"), .number("In flight"), .number("Retry"),
        .number("Scheduled"), .number("Dead"), .actions(),
      ], isCaptionHidden: true)
    for overview in states {
      let query = [("queue", overview.queue)]
      table.row(
        JobCells(request: request).queue(overview.queue), overview.badge(now: request.now),
        .number(overview.waiting), overview.ageCell(now: request.now), .number(overview.inFlight),
        count(overview.retry, request.link("scheduled", query: query + [("state", "retry")])),
        count(overview.scheduled, request.link("scheduled", query: query + [("state", "scheduled")])),
        count(overview.dead, request.link("dead", query: query)), button(overview, request))
    }
    return table
  }

  private func count(_ number: Int64, _ link: Link) -> Cell {
    number == 0 ? .number(number) : .link(NumberText.grouped(number), link)
  }

  private func button(_ state: QueueOverview, _ request: PageRequest) -> Cell {
    let queue = state.queue
    return .content { html in
      if state.pause == nil {
        html.actionForm(request, .pause, "Pause", fields: [("queue", queue)], describedBy: queue)
      } else {
        html.actionForm(
          request, .resume, "Resume", style: .primary, fields: [("queue", queue)], describedBy: queue)
      }
    }
  }
}

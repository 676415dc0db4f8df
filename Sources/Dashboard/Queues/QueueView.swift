import Operations
import Queue

/// The parts of the page of a queue.
struct QueueView {
  let request: PageRequest
  let overview: QueueOverview
  let look: QueuePage.Look
  let waiting: [BrowsedJob]
  let inFlight: [(worker: String, jobs: [BrowsedJob])]
  let retry: [BrowsedJob]
  let scheduled: [BrowsedJob]
  let dead: [BrowsedJob]

  private static let maximumReason = 200

  private var query: [(String, String)] { [("queue", overview.queue)] }
  private var cells: JobCells { JobCells(request: request) }

  func summary(_ html: inout HTML) {
    if let pause = overview.pause {
      html.notice(
        "Paused by \(pause.author), \(TimeText.relative(pause.since, now: request.now))"
          + (pause.reason.isEmpty ? "." : ": \(pause.reason)") + " Workers claim no jobs of this queue.", .warn)
    }
    let age = overview.age(now: request.now).map { "the oldest for \(TimeText.duration($0))" }
    html.figures([
      Figure("Waiting", overview.waiting, detail: overview.waiting > 0 ? age : nil),
      Figure("In flight", overview.inFlight),
      Figure(
        "Retry", overview.retry,
        link: request.link("scheduled", query: query + [("state", "retry")])),
      Figure(
        "Scheduled", overview.scheduled,
        link: request.link("scheduled", query: query + [("state", "scheduled")])),
      Figure("Dead", overview.dead, link: request.link("dead", query: query)),
    ])
  }

  func pause(_ html: inout HTML) {
    guard overview.pause == nil else {
      return html.actionForm(request, .resume, "Resume this queue", style: .primary)
    }
    guard request.may(.pause) else { return }
    html.form(request, class: "filter") { html in
      html.element("label") { html in
        html.element("span", "Reason, for your colleagues")
        html.void("input", ["name": "reason", "maxlength": "\(QueueView.maximumReason)", "autocomplete": "off"])
      }
      html.button(.pause, "Pause this queue")
    }
  }

  func jobs(_ html: inout HTML) {
    html.panel("Waiting") { html in
      ends(&html)
      html.table(waitingTable, empty: EmptyState("No job waits here"))
      pager(&html)
    }
    if !inFlight.isEmpty { html.panel("In flight") { $0.table(inFlightTable) } }
    if !retry.isEmpty {
      html.panel("Retry") { html in
        html.table(dueTable(retry, "Jobs that are retried"))
        more(overview.retry, retry.count, request.link("scheduled", query: query + [("state", "retry")]), &html)
      }
    }
    if !scheduled.isEmpty {
      html.panel("Scheduled") { html in
        html.table(dueTable(scheduled, "Scheduled jobs"))
        more(
          overview.scheduled, scheduled.count, request.link("scheduled", query: query + [("state", "scheduled")]), &html
        )
      }
    }
    if !dead.isEmpty {
      html.panel("Dead letters") { html in
        html.table(deadTable)
        more(overview.dead, dead.count, request.link("dead", query: query), &html)
      }
    }
  }

  // MARK: - Waiting

  private func ends(_ html: inout HTML) {
    guard overview.waiting > Int64(QueuePage.waitingShown) else { return }
    let ends: [(QueueBrowser.End, String)] = [(.front, "Next to be claimed"), (.back, "Newest")]
    html.tabs(
      "Ends of the queue", mark: "true",
      ends.map { end, title in
        (title, request.sameLink([("end", end.rawValue), ("skip", nil)]), end == look.end)
      })
  }

  private var waitingTable: Table {
    var table = Table(
      look.end == .front ? "Waiting jobs, next first" : "Waiting jobs, newest first",
      columns: [.number("Place"), .text("Job"), .text("For"), .number("Attempts"), .number("Size")],
      isCaptionHidden: overview.waiting > Int64(QueuePage.waitingShown))
    for (number, job) in waiting.enumerated() {
      let distance = Int64(look.skip + number)
      let place = look.end == .front ? distance + 1 : overview.waiting - distance
      table.row(.number(max(1, place)), cells.id(job.id), cells.addressee(job), .number(job.attempts), cells.size(job))
    }
    return table
  }

  private func pager(_ html: inout HTML) {
    let next = look.skip + waiting.count
    let isMore = waiting.count == QueuePage.waitingShown && Int64(next) < overview.waiting
    let isReadable = next < QueueBrowser.listDepth
    let depth = NumberText.grouped(QueueBrowser.listDepth)
    html.pager(
      request, item: "skip", first: look.skip == 0, next: isMore && isReadable ? String(next) : nil,
      description: isMore && !isReadable ? "Only the first and the last \(depth) jobs can be shown." : nil)
  }

  // MARK: - The other states

  private var inFlightTable: Table {
    var table = Table(
      "Jobs in flight", columns: [.text("Job"), .text("For"), .text("Worker"), .number("Attempts"), .number("Size")],
      isCaptionHidden: true)
    for (worker, jobs) in inFlight {
      for job in jobs {
        table.row(cells.id(job.id), cells.addressee(job), .code(worker), .number(job.attempts), cells.size(job))
      }
    }
    return table
  }

  private func dueTable(_ jobs: [BrowsedJob], _ caption: String) -> Table {
    var table = Table(
      caption, columns: [.text("Job"), .text("For"), .text("Due"), .number("Attempts"), .number("Size")],
      isCaptionHidden: true)
    for job in jobs {
      table.row(
        cells.id(job.id), cells.addressee(job), cells.due(job), .number(job.attempts), cells.size(job))
    }
    return table
  }

  private var deadTable: Table {
    var table = Table(
      "Newest dead letters", columns: [.text("Job"), .text("Reason"), .text("For"), .text("Given up")],
      isCaptionHidden: true)
    for job in dead {
      table.row(
        cells.id(job.id), .text(job.burial?.reason ?? "not a dead letter of Martlet"), cells.addressee(job),
        .time(job.position?.milliseconds ?? 0, now: request.now))
    }
    return table
  }

  private func more(_ total: Int64, _ shown: Int, _ link: Link, _ html: inout HTML) {
    guard total > Int64(shown) else { return }
    html.element("p") { $0.link("All \(NumberText.grouped(total))", to: link) }
  }
}

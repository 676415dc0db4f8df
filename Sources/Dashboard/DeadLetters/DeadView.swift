import Jobs
import Operations
import Queue

/// The parts of the page of dead letters.
struct DeadView {
  let request: PageRequest
  let query: DeadQuery
  let queueField: FilterField
  /// All letters of the queues that are shown, regardless of the filter.
  let total: Int64
  let list: MergedList
  let reasons: DeadReasons

  /// Reasons that are shown.
  private static let shownReasons = 8

  // MARK: - Reasons and filter

  func reasons(_ html: inout HTML) {
    html.element("section", ["class": "facets", "aria-label": "Reasons"]) { html in
      html.element("ul") { html in
        for entry in reasons.entries.prefix(DeadView.shownReasons) {
          let isCurrent = query.filter.reason == entry.reason
          html.element("li") { html in
            html.element(
              "a",
              [
                "href": request.sameLink([
                  ("reason", isCurrent ? nil : entry.reason), ("cursor", nil), ("confirm", nil),
                ]).text,
                "class": "facet", "aria-current": isCurrent ? "true" : nil, "title": entry.reason,
              ]
            ) { html in
              html.element("span", ["class": "facet-name"], entry.reason.isEmpty ? "no reason" : entry.reason)
              html.element("span", ["class": "facet-count"], NumberText.grouped(entry.count))
            }
          }
        }
      }
      if reasons.examined >= DeadReasonsCache.newest {
        html.element("p", ["class": "quiet"], "Reasons of the newest \(NumberText.grouped(reasons.examined)) letters.")
      }
    }
  }

  func filter(_ html: inout HTML) {
    html.filterForm(
      request,
      [
        FilterField("reason", "Reason contains", .text(placeholder: "BadDeviceToken")), queueField,
        FilterField("app", "App", .text(placeholder: "com.example.app")),
        FilterField(
          "age", "Given up", .choice([("", "any time")] + DeadQuery.Age.allCases.map { ($0.rawValue, $0.title) })),
      ])
  }

  // MARK: - List

  func list(_ html: inout HTML) {
    guard !list.entries.isEmpty else { return emptyList(&html) }
    html.form(request, class: "selection") { html in
      html.element("div", ["class": "toolbar"]) { html in
        if request.may(.requeue) { html.button(.requeue, "Requeue selected", style: .primary) }
        if request.may(.purge) { html.button(.purge, "Purge selected", style: .danger) }
        html.element("span", ["class": "spacer"], "")
        bulkLinks(&html)
      }
      html.table(table)
    }
    pager(&html)
  }

  private func bulkLinks(_ html: inout HTML) {
    let what = query.filter.isEmpty ? "all \(NumberText.grouped(total))" : "all that match"
    html.confirmLink(request, .requeueAll, "Requeue \(what)…", asking: DeadLetterVerb.requeue.rawValue)
    html.confirmLink(request, .purgeAll, "Purge \(what)…", asking: DeadLetterVerb.purge.rawValue)
  }

  private func emptyList(_ html: inout HTML) {
    if total == 0 {
      html.emptyState(EmptyState("No dead letters", "No job was given up."))
    } else if list.next != nil {
      html.emptyState(
        EmptyState(
          "None of these \(NumberText.grouped(list.examined)) letters matches",
          "Older ones were not searched yet."))
      pager(&html)
    } else {
      html.emptyState(EmptyState("No dead letter matches", "Change the filter."))
    }
  }

  private func pager(_ html: inout HTML) {
    let searched =
      query.filter.isEmpty ? nil : "searched \(NumberText.count(list.examined, "letter")) for this part"
    html.pager(request, first: request.query("cursor") == nil, next: list.next?.text, description: searched)
  }

  private var table: Table {
    var table = Table(
      "Dead letters",
      columns: [
        .text("Job"), .text("Reason"), .text("For"), .text("Queue"), .text("Given up"), .number("Attempts"),
        .number("Size"),
      ], isCaptionHidden: true)
    let cells = JobCells(request: request)
    for entry in list.entries {
      let queue = query.queues[entry.source]
      table.row(
        first(entry.job, queue, cells),
        entry.job.burial.map { .text($0.reason) } ?? .badge("not a dead letter of Martlet", .neutral),
        cells.addressee(entry.job), cells.queue(queue),
        .time(entry.job.position?.milliseconds ?? 0, now: request.now), .number(entry.job.attempts),
        cells.size(entry.job))
    }
    return table
  }

  /// The id, with a box to select the letter.
  private func first(_ job: BrowsedJob, _ queue: String, _ cells: JobCells) -> Cell {
    guard job.burial != nil, let reference = job.reference, request.may(.requeue) else {
      return job.burial == nil ? .text("another program's entry") : cells.id(job.id)
    }
    return .content { html in
      html.element("span", ["class": "pick"]) { html in
        html.void(
          "input",
          [
            "type": "checkbox", "name": "letter",
            "value": SelectedLetter(queue: queue, id: job.id, reference: reference).text,
            "aria-label": "Select \(job.id ?? "the letter without id")",
          ])
        html.append(cells.id(job.id))
      }
    }
  }
}

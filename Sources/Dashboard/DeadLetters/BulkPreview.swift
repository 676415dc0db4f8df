import Credentials
import EventLoop
import JSON
import Jobs
import Operations
import Queue

/// What requeueing or purging all letters that match would do, before it is done.
struct BulkPreview {
  /// Letters that are looked at, over all queues.
  private static let examined = 5000
  /// Reasons that are shown.
  private static let shownReasons = 8

  private let verb: DeadLetterVerb
  private let query: DeadQuery
  private let request: PageRequest
  private let reasons: DeadReasons
  /// Whether there are letters that were not looked at.
  private let isMore: Bool
  /// Letters of each queue that were looked at, at most.
  private let limit: Int

  /// Returns nil if the address of the page does not ask for it.
  @EventLoop
  init?(_ query: DeadQuery, _ request: PageRequest, context: DashboardContext) async throws(PageError) {
    guard let name = request.query("confirm") else { return nil }
    guard let verb = DeadLetterVerb(rawValue: name) else { throw .badRequest("There is no such action.") }
    self.verb = verb
    self.query = query
    self.request = request
    var sum = DeadReasons()
    var isMore = false
    limit = BulkPreview.examined / max(1, query.queues.count)
    // Nobody who may not do it causes the search.
    for queue in query.queues where request.may(BulkPreview.action(verb)) {
      let reasons = try await refusingFaults(
        await DeadReasons.read(queue, query.filter, newest: limit, from: context.connection))
      isMore = isMore || reasons.examined >= limit
      sum.add(reasons)
    }
    reasons = sum
    self.isMore = isMore
  }

  /// The filter that the form of the confirmation holds: the letters that were there when it was shown. Nil if the form
  /// has none.
  static func filter(_ query: DeadQuery, of request: PageRequest) -> DeadLetterFilter? {
    guard let until = request.field("until")?.integer(in: NumberRange.times) else { return nil }
    var filter = query.filter
    filter.since = request.field("since")?.integer(in: NumberRange.times)
    filter.until = until
    return filter
  }

  private static func action(_ verb: DeadLetterVerb) -> PageAction {
    verb == .requeue ? .requeueAll : .purgeAll
  }

  func confirmation(_ html: inout HTML) {
    let action = BulkPreview.action(verb)
    guard request.may(action) else {
      return html.notice("This needs the role \(action.role.rawValue).", .warn)
    }
    guard reasons.matched > 0 || isMore else {
      return html.notice("No dead letter matches. Nothing would be done.", .info)
    }
    html.confirmation(
      request, action, title: title, label: "\(verb.imperative) \(amount)",
      style: verb == .requeue ? .primary : .danger, fields: fields,
      cancel: request.sameLink([("confirm", nil)])
    ) { html in
      html.element("p", effect)
      if isMore {
        html.element(
          "p", ["class": "quiet"],
          "Only the newest \(NumberText.grouped(limit)) of a queue were counted; older ones that match are included."
        )
      }
      if query.filter.app != nil {
        html.element("p", ["class": "quiet"], "Jobs that name the app only in their data are not touched.")
      }
      html.table(table)
    }
  }

  private var amount: String {
    (isMore ? "more than " : "") + NumberText.count(reasons.matched, "letter")
  }

  private var title: String {
    "\(verb.imperative) all dead letters" + (query.description.map { " \($0)" } ?? "") + "?"
  }

  private var effect: String {
    switch verb {
    case .requeue:
      "Each job goes to the back of its queue with all its attempts, and is sent only to the devices that were left open or uncertain, under the same apns-ids."
    case .purge: "The jobs are deleted for good. Their pushes are not sent."
    }
  }

  /// What is given up after this page was first shown stays.
  private var fields: [(String, String)] {
    [("until", request.query("until") ?? String(query.filter.until ?? request.now))]
      + (query.filter.since.map { [("since", String($0))] } ?? [])
  }

  private var table: Table {
    var table = Table("By reason", columns: [.text("Reason"), .number("Letters")])
    for entry in reasons.entries.prefix(BulkPreview.shownReasons) {
      table.row(.text(entry.reason), .number(entry.count))
    }
    let others = reasons.entries.dropFirst(BulkPreview.shownReasons).reduce(reasons.others) { $0 + $1.count }
    if others > 0 { table.row(.text("other reasons"), .number(others)) }
    return table
  }
}

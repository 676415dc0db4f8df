import EventLoop

/// `/audit`: what operators did, the newest first.
@EventLoop
struct AuditPage: DashboardPage {
  private static let entriesOfPage = 50

  let context: DashboardContext

  let path = "/audit"
  let section = Section.audit

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let cursor = try Cursor.streamID(request.query("cursor"))
    // One more tells whether there is a next part.
    let found = try await refusingFaults(
      await context.audit.read(before: cursor, count: AuditPage.entriesOfPage + 1))
    let entries = found.prefix(AuditPage.entriesOfPage)
    var table = Table(
      "Actions of operators",
      columns: [.text("When"), .text("Operator"), .text("Action"), .text("Subject"), .text("Outcome")],
      isCaptionHidden: true)
    for entry in entries { table.row(AuditPage.cells(entry, now: request.now)) }
    return Page("Audit", summary: "What operators did, the newest first. About 10,000 entries are kept.") { html in
      html.region("entries") { html in
        html.element("div", ["class": "panel"]) { html in
          html.table(
            table, empty: EmptyState("No action yet", "Each action on a page, and each sign-in, is listed here."))
          html.pager(
            request, first: cursor == nil, next: found.count > entries.count ? entries.last?.id : nil)
        }
      }
    }
  }

  private static func cells(_ entry: AuditEntry, now: Int64) -> [Cell] {
    [
      .time(entry.at, now: now), .text(entry.operator), .text(entry.action),
      entry.subject.isEmpty ? .none : .text(entry.subject), outcome(entry.outcome),
    ]
  }

  private static func outcome(_ outcome: String) -> Cell {
    let (word, rest) = split(outcome)
    let tone: Tone =
      switch word {
      case "done": .good
      case "refused": .warn
      default: .bad
      }
    return .content { html in
      html.badge(word, tone)
      if !rest.isEmpty { html.text(" \(rest)") }
    }
  }

  /// Splits `refused: the reason`.
  private static func split(_ outcome: String) -> (word: String, rest: String) {
    let parts = outcome.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
    return (String(parts.first ?? ""), String(parts.dropFirst().first ?? ""))
  }
}

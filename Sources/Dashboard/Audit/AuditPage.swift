import EventLoop

/// `/audit`: what operators did, the newest first.
@EventLoop
struct AuditPage: DashboardPage {
  nonisolated static let entriesOfPage = 50

  let context: DashboardContext

  let path = "/audit"
  let section = Section.audit

  func show(_ request: PageRequest) async throws(PageError) -> Page {
    let cursor = try Cursor.streamID(request.query("cursor"))
    let part = try AuditPage.part(request)
    let found = try await refusingFaults(
      await context.audit.read(part, before: cursor, count: AuditPage.entriesOfPage + AuditPage.surplus))
    let (entries, next) = AuditPage.cut(found)
    var table = Table(
      "Actions of operators",
      columns: [.text("When"), .text("Operator"), .text("Action"), .text("Subject"), .text("Outcome")],
      isCaptionHidden: true)
    for entry in entries { table.row(AuditPage.cells(entry, now: request.now)) }
    return Page("Audit", summary: AuditPage.summary) { html in
      html.tabs(
        "Parts of the audit log",
        AuditLog.Part.allCases.map { other in
          let query = other == .all ? [] : [("show", other.rawValue)]
          return (AuditPage.title(other), request.link("audit", query: query), other == part)
        })
      html.region("entries") { html in
        html.element("div", ["class": "panel"]) { html in
          html.table(
            table, empty: EmptyState("No action yet", "Each action on a page, and each sign-in, is listed here."))
          html.pager(request, first: cursor == nil, next: next)
        }
      }
    }
  }

  private nonisolated static let summary =
    "What operators did, the newest first. About 10,000 actions are kept, and as many refused actions and sign-ins."

  /// Entries that are read beyond those of a page: one that has the same id as the last one of the page, and one that tells
  /// whether there is a next part.
  private static let surplus = 2

  /// Returns the entries of a page, and the cursor of the next one. Entries of two streams may have the same id, and the next
  /// page begins behind an id.
  nonisolated static func cut(_ found: [AuditEntry]) -> (entries: [AuditEntry], next: String?) {
    var count = min(entriesOfPage, found.count)
    while count > 0, count < found.count, found[count].id == found[count - 1].id { count += 1 }
    return (Array(found.prefix(count)), found.count > count ? found[count - 1].id : nil)
  }

  private static func part(_ request: PageRequest) throws(PageError) -> AuditLog.Part {
    guard let part = AuditLog.Part(rawValue: request.query("show") ?? "") else {
      throw .badRequest("There is no such part of the audit log.")
    }
    return part
  }

  private static func title(_ part: AuditLog.Part) -> String {
    switch part {
    case .all: "All"
    case .actions: "Actions"
    case .refused: "Refused actions and sign-ins"
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

/// Names and their numbers, each with a bar that shows its share of the largest.
struct ShareBars: Sendable {
  struct Entry: Sendable {
    let name: String
    let count: Int
    var detail: String?
    var link: Link?
  }

  let caption: String
  /// The title of the column of names.
  let nameTitle: String
  let entries: [Entry]
}

extension HTML {
  /// Appends a table with a bar in each row.
  mutating func shareBars(_ shares: ShareBars, empty: EmptyState) {
    let maximum = shares.entries.map(\.count).max() ?? 0
    var table = Table(
      shares.caption, columns: [.text(shares.nameTitle), .number("Count"), .text("What it means")],
      isCaptionHidden: true)
    for entry in shares.entries {
      table.row(
        .content { html in
          if let link = entry.link { html.link(entry.name, to: link) } else { html.text(entry.name) }
          html.element(
            "svg", ["class": "share", "viewBox": "0 0 100 4", "preserveAspectRatio": "none", "aria-hidden": "true"]
          ) { html in
            let width = Coordinate.text(Double(entry.count) * 100 / Double(max(1, maximum)))
            html.element("rect", ["width": width, "height": "4", "rx": "1"], "")
          }
        }, .number(entry.count), entry.detail.map { .text($0) } ?? .none)
    }
    self.table(table, empty: empty)
  }
}

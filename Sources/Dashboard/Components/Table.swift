/// A table with a caption and header cells.
package struct Table: Sendable {
  package struct Column: Sendable {
    package enum Kind: String, Sendable { case text, number, actions }

    package let title: String
    package let kind: Kind
    package var className: String? { kind == .text ? nil : kind.rawValue }

    package static func text(_ title: String) -> Column { Column(title: title, kind: .text) }
    package static func number(_ title: String) -> Column { Column(title: title, kind: .number) }
    /// Buttons and links; the title is for those who do not see them.
    package static func actions(_ title: String = "Actions") -> Column { Column(title: title, kind: .actions) }
  }

  package let caption: String
  package let columns: [Column]
  /// Whether the caption is only for those who do not see the heading above the table.
  package var isCaptionHidden = false
  package private(set) var rows: [[Cell]] = []

  package init(_ caption: String, columns: [Column], isCaptionHidden: Bool = false) {
    self.caption = caption
    self.columns = columns
    self.isCaptionHidden = isCaptionHidden
  }

  /// Adds a row with a cell for each column. The first one is the header of the row.
  package mutating func row(_ cells: Cell...) { row(cells) }

  package mutating func row(_ cells: [Cell]) {
    precondition(cells.count == columns.count, "a cell for each column")
    rows.append(cells)
  }
}

extension HTML {
  /// Appends a table, or what to show if it has no rows.
  package mutating func table(_ table: Table, empty: EmptyState? = nil) {
    if table.rows.isEmpty, let empty { return emptyState(empty) }
    element("div", ["class": "table", "role": "region", "aria-label": table.caption, "tabindex": "0"]) { html in
      html.element("table") { html in
        html.element("caption", ["class": table.isCaptionHidden ? "hidden" : nil], table.caption)
        html.element("thead") { html in
          html.element("tr") { html in
            for column in table.columns { html.header(column) }
          }
        }
        html.element("tbody") { html in
          for row in table.rows { html.row(row, table.columns) }
        }
      }
    }
  }

  private mutating func header(_ column: Table.Column) {
    element("th", ["scope": "col", "class": column.className]) { html in
      if column.kind == .actions {
        html.element("span", ["class": "hidden"], column.title)
      } else {
        html.text(column.title)
      }
    }
  }

  private mutating func row(_ cells: [Cell], _ columns: [Table.Column]) {
    element("tr") { html in
      for (place, (cell, column)) in zip(cells, columns).enumerated() {
        let content = { (html: inout HTML) in html.append(cell) }
        if place == 0 {
          html.element("th", ["scope": "row", "class": column.className], content)
        } else {
          // On narrow screens each cell is a line with its title.
          html.element(
            "td", ["class": column.className, "data-title": column.kind == .actions ? nil : column.title], content)
        }
      }
    }
  }
}

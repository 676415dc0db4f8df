/// What is shown in place of a list without entries.
package struct EmptyState: Sendable {
  package let title: String
  /// What that means, or what to do.
  package var hint: String?

  package init(_ title: String, _ hint: String? = nil) {
    self.title = title
    self.hint = hint
  }
}

extension HTML {
  /// Appends a part of the page that is fetched again while the page is shown. `id` is unique in the page.
  package mutating func region(_ id: StaticString, _ content: (inout HTML) -> Void) {
    element("div", ["class": "region", "data-region": "\(id)"], content)
  }

  /// Appends a part with a heading, in a frame.
  package mutating func panel(_ title: String, id: String? = nil, _ content: (inout HTML) -> Void) {
    element("section", ["class": "panel", "id": id]) { html in
      html.element("h2", title)
      content(&html)
    }
  }

  /// Appends links to the views of a page. `mark`: the value of `aria-current`.
  package mutating func tabs(
    _ label: String, mark: String = "page", _ tabs: [(title: String, link: Link, isCurrent: Bool)]
  ) {
    element("nav", ["class": "tabs", "aria-label": label]) { html in
      for tab in tabs {
        html.element("a", ["href": tab.link.text, "aria-current": tab.isCurrent ? mark : nil], tab.title)
      }
    }
  }

  package mutating func emptyState(_ state: EmptyState) {
    element("div", ["class": "empty"]) { html in
      html.element("p", ["class": "title"], state.title)
      if let hint = state.hint { html.element("p", hint) }
    }
  }

  /// Appends a sentence that stands out: what is wrong and its fix, or what was done.
  package mutating func notice(_ text: String, _ tone: Tone, fix: String? = nil) {
    element("div", ["class": "notice \(tone.rawValue)", "role": tone == .bad ? "alert" : "status"]) { html in
      html.element("p", text)
      if let fix { html.labelled("Fix: ", fix, class: "fix") }
    }
  }

  /// Appends a paragraph that begins with a label: what happens next, or what to do. `more` follows the text.
  package mutating func labelled(
    _ label: String, _ text: String, class name: String? = nil, _ more: (inout HTML) -> Void = { _ in }
  ) {
    element("p", ["class": name]) { html in
      html.element("strong", label)
      html.text(text)
      more(&html)
    }
  }

  /// Appends names and their values.
  package mutating func definitions(_ entries: [(String, Cell)]) {
    element("dl", ["class": "facts"]) { html in
      for (name, value) in entries {
        html.element("div") { html in
          html.element("dt", name)
          html.element("dd") { $0.append(value) }
        }
      }
    }
  }

  /// Appends numbers that matter most, each with its name and a line of explanation.
  package mutating func figures(_ figures: [Figure]) {
    element("dl", ["class": "figures"]) { html in
      for figure in figures {
        html.element("div", ["class": figure.tone.map { "figure \($0.rawValue)" } ?? "figure"]) { html in
          html.element("dt", figure.name)
          html.element("dd", ["class": "value"]) { html in
            if let link = figure.link { html.link(figure.value, to: link) } else { html.text(figure.value) }
          }
          if let detail = figure.detail { html.element("dd", ["class": "detail"], detail) }
        }
      }
    }
  }

  /// Appends how far something is. The text says it too: `text`, or the part in percent.
  package mutating func progress(done: Int64, total: Int64, label: String, text: String? = nil) {
    element("div", ["class": "progress"]) { html in
      html.element(
        "progress",
        ["max": String(max(total, 1)), "value": String(min(max(done, 0), max(total, 1))), "aria-label": label],
        "")
      html.element("span", text ?? (total > 0 ? "\(min(100, max(0, done) * 100 / total)) %" : "–"))
    }
  }

  /// Appends text that keeps its lines, in a fixed-width font.
  package mutating func preformatted(_ text: String, label: String) {
    element("pre", ["tabindex": "0", "role": "region", "aria-label": label]) { $0.element("code", text) }
  }

  /// Appends a part that is closed until it is asked for. `id` keeps it open while the page is refreshed.
  package mutating func details(_ summary: String, id: String, _ content: (inout HTML) -> Void) {
    element("details", ["id": id]) { html in
      html.element("summary", summary)
      content(&html)
    }
  }
}

/// A number that matters.
package struct Figure: Sendable {
  package let name: String
  package let value: String
  package var detail: String?
  package var tone: Tone?
  package var link: Link?

  package init(_ name: String, _ value: String, detail: String? = nil, tone: Tone? = nil, link: Link? = nil) {
    self.name = name
    self.value = value
    self.detail = detail
    self.tone = tone
    self.link = link
  }

  package init(
    _ name: String, _ number: some BinaryInteger, detail: String? = nil, tone: Tone? = nil, link: Link? = nil
  ) {
    self.init(name, NumberText.grouped(number), detail: detail, tone: tone, link: link)
  }
}

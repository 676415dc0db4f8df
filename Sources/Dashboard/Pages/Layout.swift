import Credentials

/// The frame of every page: head, navigation, main content.
struct Layout {
  let links: Links
  /// Nil on the sign-in page and on pages of errors before an operator is known.
  let `operator`: Operator?
  /// Nil if no entry of the navigation is the current one.
  let section: Section?
  /// Entries of the navigation, in their order.
  let sections: [Section]
  /// The version of the program, at the foot of the page.
  let version: String

  /// Returns the document. `notice` is the outcome of the action before.
  func document(_ page: Page, notice: ActionOutcome? = nil) -> [UInt8] {
    var html = HTML()
    html.raw("<!doctype html>\n")
    html.element("html", ["lang": "en"]) { html in
      head(page, &html)
      html.element("body", ["data-refresh": page.refreshes ? "" : nil]) { html in
        html.element("a", ["class": "skip", "href": "#main"], "Skip to the content")
        bar(&html)
        html.element("div", ["class": `operator` == nil ? "frame alone" : "frame"]) { html in
          if `operator` != nil {
            html.element("nav", ["class": "side", "aria-label": "Pages"], navigation)
          }
          html.element("main", ["id": "main", "tabindex": "-1"]) { main(page, notice, &$0) }
        }
      }
    }
    return html.bytes
  }

  private func head(_ page: Page, _ html: inout HTML) {
    html.element("head") { html in
      html.void("meta", ["charset": "utf-8"])
      html.void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
      html.void("meta", ["name": "color-scheme", "content": "light dark"])
      html.element("title", "\(page.title) · Martlet")
      html.void("link", ["rel": "icon", "type": "image/svg+xml", "href": links.root + Assets.icon.path])
      html.void("link", ["rel": "stylesheet", "href": links.root + Assets.style.path])
      html.element("script", ["type": "module", "src": links.root + Assets.script.path], "")
    }
  }

  private func bar(_ html: inout HTML) {
    html.element("header", ["class": "bar"]) { html in
      html.element("a", ["class": "brand", "href": links.link("").text]) { html in
        html.void("img", ["src": links.root + Assets.icon.path, "alt": "", "width": "28", "height": "28"])
        html.element("span", "Martlet")
      }
      guard let `operator` else { return }
      html.element("details", ["class": "menu", "id": "menu"]) { html in
        html.element("summary", "Menu")
        html.element("nav", ["aria-label": "Menu"], navigation)
      }
      html.element("form", ["class": "search", "role": "search", "method": "get", "action": links.link("search").text])
      {
        html in
        html.void(
          "input",
          [
            "type": "search", "name": "q", "placeholder": "Job id or user", "aria-label": "Find a job by id, or a user",
            "autocomplete": "off",
          ])
        html.element("button", "Find")
      }
      account(`operator`, &html)
    }
  }

  private func account(_ operator: Operator, _ html: inout HTML) {
    html.element("div", ["class": "account"]) { html in
      html.element("span", ["class": "name"], `operator`.name)
      html.element("span", ["class": "badge neutral"], `operator`.role.rawValue)
      guard `operator`.hasSession else { return }
      html.element("form", ["method": "post", "action": links.link("sign-out").text]) { html in
        html.element("button", ["class": "quiet"], "Sign out")
      }
    }
  }

  private func navigation(_ html: inout HTML) {
    for group in Section.groups {
      html.element("p", ["class": "group"], group)
      html.element("ul") { html in
        for entry in sections where entry.group == group {
          html.element("li") { html in
            html.element(
              "a", ["href": links.link(entry).text, "aria-current": entry == section ? "page" : nil], entry.title)
          }
        }
      }
    }
  }

  private func main(_ page: Page, _ notice: ActionOutcome?, _ html: inout HTML) {
    html.element("div", ["class": "title"]) { html in
      html.element("h1", page.title)
      // Filled by the module, which is the only one to refresh.
      if page.refreshes { html.element("div", ["class": "live", "id": "live", "hidden": ""], "") }
    }
    if let summary = page.summary { html.element("p", ["class": "summary"], summary) }
    if let notice { html.notice(notice.message, notice.kind == .done ? .good : .warn) }
    html.append(page.body)
    if !version.isEmpty { html.element("footer", "Martlet \(version)") }
  }
}

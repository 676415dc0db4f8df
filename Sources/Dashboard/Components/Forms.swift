import Credentials
import HTTPServer

/// The look of a button.
package enum ButtonStyle: String, Sendable {
  case plain, primary, danger
}

/// A field of a form that filters a list.
package struct FilterField: Sendable {
  package enum Input: Sendable {
    case text(placeholder: String)
    /// Values and their titles. The first one is the value without a choice, usually empty.
    case choice([(value: String, title: String)])
  }

  package let name: String
  package let title: String
  package let input: Input

  package init(_ name: String, _ title: String, _ input: Input) {
    self.name = name
    self.title = title
    self.input = input
  }
}

extension HTML {
  /// Appends a form with one button that carries out `action` on this page. Appends nothing if the operator may not.
  package mutating func actionForm(
    _ request: PageRequest, _ action: PageAction, _ label: String, style: ButtonStyle = .plain,
    fields: [(String, String)] = [], describedBy: String? = nil
  ) {
    guard request.may(action) else { return }
    form(request) { html in
      for (name, value) in fields { html.hidden(name, value) }
      html.button(action, label, style: style, describedBy: describedBy)
    }
  }

  /// Appends a form that is sent to this page. It contains at least one ``button(_:_:style:describedBy:)``.
  package mutating func form(_ request: PageRequest, class name: String = "action", _ content: (inout HTML) -> Void) {
    element("form", ["method": "post", "action": request.sameLink().text, "class": name]) { html in
      html.hidden(FormToken.field, request.formToken)
      content(&html)
    }
  }

  /// Appends a field that is not shown. Its value is sent back exactly, also with characters that pages do not show.
  package mutating func hidden(_ name: String, _ value: String) {
    raw("<input type=\"hidden\" name=\"")
    text(name)
    raw("\" value=\"")
    exactly(value)
    raw("\">")
  }

  /// Appends the button of an action. `describedBy`: what it acts on, for those who hear the button alone.
  package mutating func button(
    _ action: PageAction, _ label: String, style: ButtonStyle = .plain, describedBy: String? = nil
  ) {
    element(
      "button",
      [
        "name": "action", "value": action.name, "class": style == .plain ? nil : style.rawValue,
        "aria-label": describedBy.map { "\(label) \($0)" },
      ], label)
  }

  /// Appends a link to this page that asks before an action. Appends nothing if the operator may not. `question`: the value of
  /// `confirm`; nil for the name of the action.
  package mutating func confirmLink(
    _ request: PageRequest, _ action: PageAction, _ label: String, asking question: String? = nil
  ) {
    guard request.may(action) else { return }
    link(label, to: request.sameLink([("confirm", question ?? action.name)]), class: "button")
  }

  /// Appends a panel that says what an action would do, with the button that does it and a link that does not.
  package mutating func confirmation(
    _ request: PageRequest, _ action: PageAction, title: String, label: String, style: ButtonStyle = .danger,
    fields: [(String, String)] = [], cancel: Link, _ content: (inout HTML) -> Void
  ) {
    element("section", ["class": style == .danger ? "panel confirm" : "panel", "id": "confirm"]) { html in
      html.element("h2", title)
      content(&html)
      html.element("div", ["class": "buttons"]) { html in
        html.actionForm(request, action, label, style: style, fields: fields)
        html.link("Cancel", to: cancel, class: "button")
      }
    }
  }

  /// Appends a form that filters the list of this page. Each field shows the value in the query.
  package mutating func filterForm(_ request: PageRequest, _ fields: [FilterField], button label: String = "Filter") {
    let page = request.sameLink(request.http.query.map { ($0.name, nil) })
    element("form", ["method": "get", "action": page.text, "class": "filter"]) { html in
      for field in fields {
        html.element("label") { html in
          html.element("span", field.title)
          html.input(field, value: request.query(field.name) ?? "")
        }
      }
      html.element("button", label)
    }
  }

  private mutating func input(_ field: FilterField, value: String) {
    switch field.input {
    case .text(let placeholder):
      void("input", ["type": "search", "name": field.name, "value": value, "placeholder": placeholder])
    case .choice(let choices):
      element("select", ["name": field.name]) { html in
        for choice in choices {
          html.element("option", ["value": choice.value, "selected": choice.value == value ? "" : nil], choice.title)
        }
      }
    }
  }

  /// Appends a link that shows tokens whole or shortened, if the operator may see them whole.
  package mutating func wholeTokensLink(_ request: PageRequest) {
    guard request.operator.role == .admin else { return }
    let isWhole = request.showsWholeTokens
    link(
      isWhole ? "Shorten the tokens" : "Show whole tokens", to: request.sameLink([("whole", isWhole ? nil : "yes")]))
  }

  /// Appends links to the parts of a list before and after this one. `item`: the query item that says where a part begins.
  package mutating func pager(
    _ request: PageRequest, item: String = "cursor", first: Bool, next: String?, description: String? = nil
  ) {
    guard !first || next != nil || description != nil else { return }
    element("nav", ["class": "pager", "aria-label": "Parts of the list"]) { html in
      if !first { html.link("First part", to: request.sameLink([(item, nil)]), class: "button") }
      if let description { html.element("span", ["class": "quiet"], description) }
      if let next { html.link("Next part", to: request.sameLink([(item, next)]), class: "button") }
    }
  }
}

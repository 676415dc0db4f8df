import Operations

/// Why an addressee gets pushes or gets none.
struct FindingsPanel {
  let explanation: AddresseeExplanation
  let request: PageRequest

  func append(to html: inout HTML) {
    html.notice(explanation.outcome, explanation.isReachable ? .good : .warn)
    guard !explanation.findings.isEmpty else { return }
    html.panel("Why pushes arrive or not") { html in
      html.element("ul", ["class": "findings"]) { html in
        for finding in explanation.findings { item(finding, &html) }
      }
    }
  }

  private func item(_ finding: Finding, _ html: inout HTML) {
    html.element("li") { html in
      switch finding.severity {
      case .problem: html.badge("problem", .bad)
      case .warning: html.badge("warning", .warn)
      case .fact, .ok: html.badge("fact", .neutral)
      }
      html.text(" ")
      html.text(finding.text)
      if let since = finding.since {
        html.text(" ")
        html.element("span", ["class": "quiet"]) { $0.time(since, now: request.now) }
      }
      if let fix = finding.fix { html.labelled("To do: ", fix, class: "fix") }
    }
  }
}

package import Operations

/// Why an addressee gets pushes or gets none.
package struct FindingsPanel {
  package let explanation: AddresseeExplanation
  package let request: PageRequest

  package init(explanation: AddresseeExplanation, request: PageRequest) {
    self.explanation = explanation
    self.request = request
  }

  package func append(to html: inout HTML) {
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

import Operations
import Program
import Telemetry

/// Explanations as text for a terminal: each sentence in one line, with its time.
struct ExplanationText {
  let time: TimeText

  func text(_ explanation: JobExplanation) -> String {
    var lines = ["job \(explanation.id): \(ExplanationText.words(explanation.state))", explanation.outcome, ""]
    lines += table(explanation.steps.map { ($0.at, $0.sentence) })
    if !explanation.steps.isEmpty { lines.append("") }
    if let next = explanation.next { lines.append("Next:   \(moment(next.at))\(next.sentence)") }
    if let advice = explanation.advice { lines.append("To do:  \(advice)") }
    return ExplanationText.joined(lines)
  }

  func text(_ explanation: AddresseeExplanation) -> String {
    var lines = [explanation.outcome]
    for severity in Finding.Severity.allCases {
      let findings = explanation.findings.filter { $0.severity == severity }
      guard !findings.isEmpty else { continue }
      lines += ["", ExplanationText.title(severity)]
      for finding in findings {
        let since = finding.since.map { " (\(time.clock($0)), \(time.relative($0)))" } ?? ""
        lines.append("  \(finding.text)\(since)")
        if let fix = finding.fix { lines.append("    To do: \(fix)") }
      }
    }
    return ExplanationText.joined(lines)
  }

  private static func words(_ state: JobExplanation.State) -> String {
    state == .inFlight ? "in flight" : state.rawValue
  }

  private static func title(_ severity: Finding.Severity) -> String {
    switch severity {
    case .problem: "Problems"
    case .warning: "Warnings"
    case .fact, .ok: "Facts"
    }
  }

  /// Joins the lines. Line breaks and control characters in quoted text are escaped, so that each line stays one line.
  private static func joined(_ lines: [String]) -> String {
    var lines = lines.map(TerminalText.line)
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines.joined(separator: "\n") + "\n"
  }

  private func moment(_ at: Int64?) -> String {
    at.map { "\(time.clock($0)) (\(time.relative($0))): " } ?? ""
  }

  /// The columns have the width of their longest text.
  private func table(_ rows: [(at: Int64?, sentence: String)]) -> [String] {
    let times = rows.map { row in row.at.map { (time.clock($0), time.relative($0)) } ?? ("", "") }
    let widths = (times.map(\.0.count).max() ?? 0, times.map(\.1.count).max() ?? 0)
    return zip(rows, times).map { row, time in
      ExplanationText.padded(time.0, widths.0) + "  " + ExplanationText.padded(time.1, widths.1) + "  " + row.sentence
    }
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
